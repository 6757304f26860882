/* A document and its cells in memory: made, freed, ids given. Daemon and command line tool. */
#include "notebook/model.h"

#include <strings.h>

/* The first is what a document without a language is taken for. */
static const struct notebook_language languages[] = {
    {"python", "python", "Python 3", "python3", ".py", "text/x-python", "ipython3", "#"},
    {"node", "javascript", "JavaScript (Node.js)", "javascript", ".js", "text/javascript",
     "javascript", "//"},
    {"bash", "bash", "Bash", "bash", ".sh", "text/x-sh", "bash", "#"},
};

static const struct notebook_language unknown_language = {.comment = "#", .suffix = ".txt"};

/* ---- documents and cells --------------------------------------------------------------------- */

struct document *notebook_new(void)
{
    struct document *doc = mem_alloc(sizeof(*doc));
    doc->metadata = json_object();
    doc->runtime = mem_strdup(languages[0].runtime);
    return doc;
}

void notebook_free(struct document *doc)
{
    if (doc == NULL)
        return;
    for (size_t i = 0; i < doc->n_cells; i++) {
        struct notebook_cell *cell = &doc->cells[i];
        free(cell->id);
        free(cell->source);
        free(cell->created_at);
        free(cell->executed_at);
        json_decref(cell->outputs);
        json_decref(cell->metadata);
        json_decref(cell->attachments);
    }
    free(doc->cells);
    free(doc->title);
    free(doc->runtime);
    free(doc->user_id);
    free(doc->session_id);
    free(doc->created_at);
    free(doc->updated_at);
    json_decref(doc->metadata);
    free(doc);
}

struct notebook_cell *notebook_add_cell(struct document *doc, enum cell_kind kind)
{
    if (doc->n_cells == doc->cells_cap) {
        doc->cells_cap = doc->cells_cap > 0 ? 2 * doc->cells_cap : 16;
        doc->cells = mem_realloc(doc->cells, doc->cells_cap * sizeof(*doc->cells));
    }
    struct notebook_cell *cell = &doc->cells[doc->n_cells++];
    *cell = (struct notebook_cell){
        .kind = kind,
        .source = mem_strdup(""),
        .execution_time = -1,
        .outputs = json_array(),
        .metadata = json_object(),
    };
    return cell;
}

void notebook_set_source(struct notebook_cell *cell, const char *source, size_t len)
{
    free(cell->source);
    cell->source = mem_alloc(len + 1);
    if (len > 0)
        memcpy(cell->source, source, len);
    cell->source_len = len;
}

void notebook_set_text(char **field, const char *text)
{
    char *copy = text != NULL ? mem_strdup(text) : NULL;
    free(*field);
    *field = copy;
}

bool notebook_is_ours(const struct document *doc)
{
    return doc->user_id != NULL || doc->session_id != NULL || doc->created_at != NULL;
}

size_t notebook_count(const struct document *doc, enum cell_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < doc->n_cells; i++)
        n += doc->cells[i].kind == kind;
    return n;
}

size_t notebook_count_outputs(const struct document *doc)
{
    size_t n = 0;
    for (size_t i = 0; i < doc->n_cells; i++)
        n += json_array_size(doc->cells[i].outputs);
    return n;
}

/* ---- ids ------------------------------------------------------------------------------------- */

static bool model_is_id(const char *id)
{
    return id != NULL && cell_is_id(id, strlen(id));
}

/* In two passes: a name that is made must not be one that a later cell came with. Names are made
 * from positions, not from chance, so that the same file gives the same document. */
void notebook_settle_ids(struct document *doc)
{
    _json_ json_t *taken = json_object();
    bool *keeps = mem_alloc(doc->n_cells + 1);
    for (size_t i = 0; i < doc->n_cells; i++) {
        const char *id = doc->cells[i].id;
        keeps[i] = model_is_id(id) && json_object_get(taken, id) == NULL;
        if (keeps[i])
            json_object_set_new(taken, id, json_true());
    }
    size_t number = 0;
    for (size_t i = 0; i < doc->n_cells; i++) {
        if (keeps[i])
            continue;
        number = MAX(number, i);
        /* A free name: that of the cell, or "cell", and a number. The number never goes back, so
         * that the names which are tried are at most as many as there are cells, twice. */
        char name[CELL_ID_SIZE];
        bool has_name = model_is_id(doc->cells[i].id);
        do {
            snprintf(name, sizeof(name), "%.40s-%zu", has_name ? doc->cells[i].id : "cell",
                     number++);
        } while (json_object_get(taken, name) != NULL);
        char *made = mem_strdup(name);
        free(doc->cells[i].id);
        doc->cells[i].id = made;
        json_object_set_new(taken, made, json_true());
        doc->n_renamed++;
    }
    free(keeps);
}

/* ---- names ----------------------------------------------------------------------------------- */

const struct notebook_language *notebook_language(const struct document *doc)
{
    for (size_t i = 0; i < ARRAY_LEN(languages); i++)
        if (strcmp(languages[i].runtime, doc->runtime) == 0)
            return &languages[i];
    return &unknown_language;
}

const char *notebook_language_name(const struct document *doc)
{
    const char *name = notebook_language(doc)->name;
    return name != NULL ? name : doc->runtime;
}

const char *notebook_runtime_of(const char *language)
{
    static const char *const others[][2] = {
        {"python3", "python"}, {"python2", "python"}, {"ipython", "python"}, {"node", "node"},
        {"nodejs", "node"},    {"js", "node"},        {"sh", "bash"},        {"shell", "bash"},
    };
    for (size_t i = 0; i < ARRAY_LEN(languages); i++)
        if (strcasecmp(languages[i].name, language) == 0)
            return languages[i].runtime;
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (strcasecmp(others[i][0], language) == 0)
            return others[i][1];
    return NULL;
}
