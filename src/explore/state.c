/* The text of get_state(). In the daemon. */
#include "explore/state.h"

#include "explore/chars.h"
#include "explore/research.h"

#include <string.h>

/* A name as Python's repr() writes it, in one line whatever it has. */
static void state_quote(struct buf *out, const char *name)
{
    _buf_ struct buf line = BUF_INIT(4 * EXPLORE_STATE_NAME_CHARS + sizeof("..."));
    chars_append_preview(&line, name, strlen(name), EXPLORE_STATE_NAME_CHARS);
    char quote =
        strchr(buf_str(&line), '\'') != NULL && strchr(buf_str(&line), '"') == NULL ? '"' : '\'';
    buf_append_char(out, quote);
    for (size_t i = 0; i < line.len; i++) {
        if (line.data[i] == quote || line.data[i] == '\\')
            buf_append_char(out, '\\');
        buf_append_char(out, line.data[i]);
    }
    buf_append_char(out, quote);
}

static void state_more(size_t n, struct buf *out)
{
    if (n > EXPLORE_STATE_NAMES)
        buf_printf(out, "\n  ... and %zu more", n - EXPLORE_STATE_NAMES);
}

/* Those that functions mean if they are told to. */
static void state_contexts(const struct explore_state *state, struct buf *out)
{
    const char *name;
    json_t *context;
    json_object_foreach((json_t *)(uintptr_t)state->contexts, name, context) {
        if (strcmp(name, "context") == 0)
            continue;
        buf_append_str(out, "\ncontext ");
        state_quote(out, name);
        buf_printf(out, ": str (%lld chars)",
                   (long long)json_integer_value(json_object_get(context, "chars")));
    }
}

static void state_artifacts(const struct explore_state *state, struct buf *out)
{
    size_t shown = MIN(state->n_artifacts, (size_t)EXPLORE_STATE_NAMES);
    buf_append_str(out, "\nartifacts: ");
    if (shown == 0 && state->artifacts_shown.len > 0) {
        chars_append_preview(out, state->artifacts_shown.text, state->artifacts_shown.len,
                             EXPLORE_STATE_ARTIFACT_CHARS);
        return;
    }
    if (shown == 0) {
        buf_append_str(out, "{}");
        return;
    }
    for (size_t i = 0; i < shown; i++) {
        buf_append_str(out, i == 0 ? "[" : ", ");
        state_quote(out, state->artifacts[i].name);
    }
    buf_append_str(out, shown < state->n_artifacts ? ", ...]" : "]");
    for (size_t i = 0; i < shown; i++) {
        const struct explore_value *artifact = &state->artifacts[i];
        buf_append_str(out, "\n  artifacts['");
        chars_append_preview(out, artifact->name, strlen(artifact->name), EXPLORE_STATE_NAME_CHARS);
        buf_append_str(out, "']: ");
        chars_append_preview(out, artifact->text, artifact->len, EXPLORE_STATE_ARTIFACT_CHARS);
    }
    state_more(state->n_artifacts, out);
}

static void state_variables(const struct explore_state *state, struct buf *out)
{
    if (state->n_variables == 0)
        return;
    buf_append_str(out, "\n\n## Available Variables (from previous turns)");
    for (size_t i = 0; i < MIN(state->n_variables, (size_t)EXPLORE_STATE_NAMES); i++) {
        const struct explore_value *variable = &state->variables[i];
        buf_append_str(out, "\n  ");
        chars_append_preview(out, variable->name, strlen(variable->name), EXPLORE_STATE_NAME_CHARS);
        buf_append_str(out, " (");
        chars_append_preview(out, variable->type, strlen(variable->type), EXPLORE_STATE_NAME_CHARS);
        buf_append_str(out, ") = ");
        chars_append_preview(out, variable->text, variable->len, EXPLORE_STATE_VARIABLE_CHARS);
    }
    state_more(state->n_variables, out);
}

void explore_state_render(const struct explore_state *state, struct buf *out)
{
    buf_printf(out, "context: str (%llu chars)", (unsigned long long)state->context_chars);
    state_contexts(state, out);
    state_artifacts(state, out);
    state_variables(state, out);
    if (state->research != NULL && research_size(state->research) >= EXPLORE_STATE_TREE_NODES) {
        buf_append_str(out, "\n\n");
        research_render(state->research, out);
    }
}
