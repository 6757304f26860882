/* Values given on the command line, written as an assignment in the notebook's language. Command
 * line tool. */
#include "cli/parameters.h"

#include "wire/json.h"

#include <ctype.h>

enum { PARAMETERS_SOURCE_MAX = 1 << 20 };

/* ---- reading --------------------------------------------------------------------------------- */

static bool parameters_is_name(const char *text)
{
    if (!isalpha((unsigned char)text[0]) && text[0] != '_')
        return false;
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && *text != '_')
            return false;
    return true;
}

static const char *skip_digits(const char *text)
{
    while (isdigit((unsigned char)*text))
        text++;
    return text;
}

/* 12, -1.5, +.5, 1e-3. Not 007: what begins so is an identifier more often than a number. */
static bool parameters_is_number(const char *text)
{
    if (*text == '-' || *text == '+')
        text++;
    const char *whole = text, *end = skip_digits(text);
    size_t n_digits = (size_t)(end - whole);
    if (n_digits > 1 && whole[0] == '0')
        return false;
    if (*end == '.') {
        const char *fraction = end + 1;
        end = skip_digits(fraction);
        n_digits += (size_t)(end - fraction);
    }
    if (n_digits == 0)
        return false;
    if (*end == 'e' || *end == 'E') {
        end++;
        if (*end == '-' || *end == '+')
            end++;
        if (!isdigit((unsigned char)*end))
            return false;
        end = skip_digits(end);
    }
    return *end == '\0';
}

static json_t *find_word(const char *text)
{
    static const char *const words[][3] = {
        {"true", "True", "TRUE"}, {"false", "False", "FALSE"}, {"null", "None", "~"}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        for (size_t k = 0; k < ARRAY_LEN(words[i]); k++)
            if (strcmp(words[i][k], text) == 0)
                return i == 0 ? json_true() : i == 1 ? json_false() : json_null();
    return NULL;
}

static int parameters_read_value(struct cli_parameter *p, const char *text, bool is_raw,
                                 struct err *e)
{
    if (!is_raw && parameters_is_number(text)) {
        p->number = text;
        return 0;
    }
    if (!is_raw && (p->value = find_word(text)) != NULL)
        return 0;
    if (!is_raw && (text[0] == '[' || text[0] == '{' || text[0] == '"')) {
        /* A list, an object or a quoted text is JSON. */
        json_error_t problem;
        p->value =
            json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &problem);
        if (p->value != NULL)
            return 0;
        err_set(e, ERR_INVALID, "the value of %.64s looks like JSON and is none: %.100s", p->name,
                problem.text);
        return err_advise(e, "if it is meant as text: -r %.64s VALUE", p->name);
    }
    p->value = json_string(text);
    if (p->value == NULL)
        return err_set(e, ERR_INVALID, "the value of %.64s is not UTF-8", p->name);
    return 0;
}

/* Where the parameter of this name goes: in the place of an earlier one, or behind all. */
static struct cli_parameter *place_for(struct cli_parameters *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->all[i].name, name) == 0) {
            json_decref(p->all[i].value);
            p->all[i] = (struct cli_parameter){.name = name};
            return &p->all[i];
        }
    if (p->n == CLI_PARAMETERS_MAX)
        return NULL;
    p->all[p->n] = (struct cli_parameter){.name = name};
    return &p->all[p->n++];
}

int cli_parameters_read(const struct cli_args *args, struct cli_parameters *ret, struct err *e)
{
    ret->n = 0;
    for (size_t i = 0; i + 1 < args->n_given; i++) {
        const char *flag = args->given[i].flag->name;
        bool is_raw = strcmp(flag, "raw") == 0;
        if (!is_raw && strcmp(flag, "parameter") != 0)
            continue;
        const char *name = args->given[i++].value, *value = args->given[i].value;
        if (!parameters_is_name(name)) {
            err_set(e, ERR_INVALID, "'%.64s' is no name of a parameter", name);
            return err_advise(e, "letters, digits and _: -p alpha 0.5");
        }
        struct cli_parameter *p = place_for(ret, name);
        if (p == NULL)
            return err_set(e, ERR_TOO_LARGE, "there are more than %d parameters",
                           CLI_PARAMETERS_MAX);
        if (parameters_read_value(p, value, is_raw, e) < 0)
            return -1;
    }
    return 0;
}

void cli_parameters_free(struct cli_parameters *p)
{
    for (size_t i = 0; i < p->n; i++)
        json_decref(p->all[i].value);
    p->n = 0;
}

/* ---- values as they are written in a language ------------------------------------------------ */

/* Between double quotes, which Python and JavaScript read alike. */
static void put_quoted(struct buf *out, const json_t *string)
{
    const char *text = json_string_value(string);
    size_t len = json_string_length(string);
    buf_append_char(out, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c == '\n')
            buf_append_str(out, "\\n");
        else if (c < 0x20 || c == 0x7f)
            buf_printf(out, "\\x%02x", c);
        else
            buf_append_char(out, (char)c);
    }
    buf_append_char(out, '"');
}

static void put_value(struct buf *out, const json_t *value, bool is_python);

static void put_container(struct buf *out, const json_t *value, bool is_python)
{
    const char *key;
    json_t *item;
    size_t i, n = 0;
    if (json_is_array(value)) {
        buf_append_char(out, '[');
        json_array_foreach(value, i, item) {
            buf_append_str(out, n++ > 0 ? ", " : "");
            put_value(out, item, is_python);
        }
        buf_append_char(out, ']');
        return;
    }
    buf_append_char(out, '{');
    json_object_foreach((json_t *)(uintptr_t)value, key, item) {
        buf_append_str(out, n++ > 0 ? ", " : "");
        _json_ json_t *name = json_string(key);
        bool is_special = !is_python && strcmp(key, "__proto__") == 0; /* else it is no member */
        buf_append_str(out, is_special ? "[" : "");
        put_quoted(out, name);
        buf_append_str(out, is_special ? "]: " : ": ");
        put_value(out, item, is_python);
    }
    buf_append_char(out, '}');
}

static void put_value(struct buf *out, const json_t *value, bool is_python)
{
    if (json_is_string(value))
        put_quoted(out, value);
    else if (json_is_integer(value))
        buf_printf(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        json_append_real(out, json_real_value(value));
    else if (json_is_boolean(value))
        buf_append_str(out, is_python             ? json_is_true(value) ? "True" : "False"
                            : json_is_true(value) ? "true"
                                                  : "false");
    else if (json_is_null(value))
        buf_append_str(out, is_python ? "None" : "null");
    else
        put_container(out, value, is_python);
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void put_word(struct buf *out, const char *text, size_t len)
{
    buf_append_char(out, '\'');
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\'')
            buf_append_str(out, "'\\''");
        else
            buf_append_char(out, text[i]);
    }
    buf_append_char(out, '\'');
}

/* What is no text is what JSON writes; nothing for null. */
static void put_bash_item(struct buf *out, const json_t *value)
{
    if (json_is_string(value)) {
        put_word(out, json_string_value(value), json_string_length(value));
        return;
    }
    _buf_ struct buf text = BUF_INIT(PARAMETERS_SOURCE_MAX);
    if (!json_is_null(value))
        put_value(&text, value, false);
    put_word(out, buf_str(&text), text.len);
}

static void put_bash(struct buf *out, const char *name, const json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;
    if (json_is_array(value)) {
        buf_printf(out, "unset -v %s; %s=(", name, name);
        json_array_foreach(value, i, item) {
            buf_append_str(out, i > 0 ? " " : "");
            put_bash_item(out, item);
        }
        buf_append_char(out, ')');
    } else if (json_is_object(value)) {
        buf_printf(out, "unset -v %s; declare -gA %s=(", name, name);
        json_object_foreach((json_t *)(uintptr_t)value, key, item) {
            buf_append_char(out, '[');
            put_word(out, key, strlen(key));
            buf_append_str(out, "]=");
            put_bash_item(out, item);
            buf_append_char(out, ' ');
        }
        buf_append_char(out, ')');
    } else {
        buf_printf(out, "%s=", name);
        put_bash_item(out, value);
    }
}

/* ---- the cell -------------------------------------------------------------------------------- */

/* "const NAME" anywhere in it. */
static bool declares(const struct notebook_cell *cell, const char *keyword, const char *name)
{
    const char *at = cell->source, *end = at + cell->source_len;
    size_t n = strlen(keyword);
    while (at < end && (at = memmem(at, (size_t)(end - at), keyword, n)) != NULL) {
        at += n;
        while (at < end && *at == ' ')
            at++;
        size_t len = strlen(name);
        bool is_it = (size_t)(end - at) >= len && memcmp(at, name, len) == 0;
        if (is_it && (at + len == end || (!isalnum((unsigned char)at[len]) && at[len] != '_')))
            return true;
    }
    return false;
}

/* As the notebook does it, because that is what can be declared again; a `var` is assigned. */
static const char *node_keyword(const struct document *doc, const char *name)
{
    for (size_t i = 0; i < doc->n_cells; i++) {
        if (doc->cells[i].kind != CELL_CODE)
            continue;
        if (declares(&doc->cells[i], "const ", name))
            return "const ";
        if (declares(&doc->cells[i], "var ", name))
            return "";
    }
    return "let ";
}

int cli_parameters_write(const struct cli_parameters *p, const struct document *doc,
                         struct buf *out, struct err *e)
{
    buf_printf(out, "%s Parameters\n", notebook_language(doc)->comment);
    for (size_t i = 0; i < p->n; i++) {
        bool is_bash = strcmp(doc->runtime, "bash") == 0,
             is_node = strcmp(doc->runtime, "node") == 0;
        if (is_bash && p->all[i].number == NULL) {
            put_bash(out, p->all[i].name, p->all[i].value);
        } else {
            buf_append_str(out, is_node ? node_keyword(doc, p->all[i].name) : "");
            buf_printf(out, is_bash ? "%s=" : "%s = ", p->all[i].name);
            if (p->all[i].number != NULL)
                buf_append_str(out, p->all[i].number);
            else
                put_value(out, p->all[i].value, !is_node);
        }
        buf_append_str(out, is_node ? ";\n" : "\n");
    }
    if (out->overflowed)
        return err_set(e, ERR_TOO_LARGE, "the parameters are longer than a cell may be");
    if (memchr(out->data, '\0', out->len) != NULL)
        return err_set(e, ERR_INVALID, "%s has no texts with NUL characters", doc->runtime);
    out->len--; /* the last line end */
    return 0;
}

static size_t find_tagged(const struct document *doc, const char *tag)
{
    size_t i = 0;
    while (i < doc->n_cells && !cell_has_tag(doc->cells[i].metadata, tag))
        i++;
    return i;
}

static struct notebook_cell *insert_cell(struct document *doc, size_t at)
{
    struct notebook_cell made = *notebook_add_cell(doc, CELL_CODE);
    memmove(&doc->cells[at + 1], &doc->cells[at], (doc->n_cells - 1 - at) * sizeof(made));
    doc->cells[at] = made;
    json_object_set_new(doc->cells[at].metadata, "tags", json_pack("[s]", "injected-parameters"));
    notebook_settle_ids(doc);
    return &doc->cells[at];
}

int cli_parameters_inject(const struct cli_parameters *p, struct document *doc, struct err *e)
{
    _buf_ struct buf source = BUF_INIT(PARAMETERS_SOURCE_MAX);
    if (p->n == 0)
        return 0;
    if (cli_parameters_write(p, doc, &source, e) < 0)
        return -1;
    size_t injected = find_tagged(doc, "injected-parameters");
    size_t defaults = find_tagged(doc, "parameters");
    struct notebook_cell *cell;
    if (injected < doc->n_cells)
        cell = &doc->cells[injected];
    else
        cell = insert_cell(doc, defaults < doc->n_cells ? defaults + 1 : 0);
    cell->kind = CELL_CODE;
    notebook_set_source(cell, buf_str(&source), source.len);
    return 0;
}
