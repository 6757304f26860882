/* Operations as verbs: `cella undo SESSION --to 3` becomes a request by what the table of
 * operations says of session.undo, and `cella call OPERATION NAME=VALUE...` asks for any of them.
 * Command line tool. */
#include "cli/op.h"

#include "base/fd.h"
#include "cli/args.h"
#include "cli/document.h"
#include "cli/notebook.h"
#include "cli/show.h"
#include "cli/terminal.h"

#include <ctype.h>

enum {
    FLAGS_MAX = 64,     /* of one verb */
    OP_VERBS_MAX = 256, /* operations */
    OP_PATH_BYTES = 64 << 10,
    OP_BODY_BYTES = 256 << 20,
};

/* A flag and the parameter that it gives. */
struct op_flag {
    const struct op_param *param;
    const struct op_param *member; /* of it, if it is an object; else NULL */
};

/* A verb as it was made from its operation; never freed: the program ends with it. */
struct op_made {
    struct cli_verb verb;
    struct cli_flag flags[FLAGS_MAX];
    struct op_flag meant[FLAGS_MAX];
    size_t n_flags;
    char usage[256];
};

/* ---- arguments ------------------------------------------------------------------------------- */

/* NULL with the error. What is out of range is the daemon's to refuse. */
static json_t *op_read_value(const struct op_param *p, const char *text, struct err *e)
{
    int64_t number = 0;
    json_t *value = NULL;
    switch (p->type) {
    case OP_INT:
        if (p->unit == OP_MS || p->unit == OP_SECS) {
            if (cli_parse_duration(text, &number, e) < 0)
                return NULL;
            return json_integer(p->unit == OP_MS ? number : (number + 999) / 1000);
        }
        if (p->unit == OP_SIZED)
            return cli_parse_size(text, &number, e) < 0 ? NULL : json_integer(number);
        if (cli_parse_number(text, INT64_MIN, &number))
            return json_integer(number);
        err_set(e, ERR_INVALID, "%s takes a number, not '%.32s'", p->name, text);
        return NULL;
    case OP_BOOL:
        if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
            return json_boolean(text[0] == 't');
        err_set(e, ERR_INVALID, "%s takes true or false, not '%.32s'", p->name, text);
        return NULL;
    case OP_OBJECT:
    case OP_LIST:
    case OP_FREE:
    case OP_TEXTS:
        value = json_loads(text, 0, NULL);
        if (value == NULL)
            err_set(e, ERR_INVALID, "%s takes JSON, not '%.32s'", p->name, text);
        return value;
    case OP_TEXT:
    case OP_CHOICE:
    case OP_FILE:
    case OP_NUMBER:
    case OP_TIME:
    case OP_SIZE:
    case OP_INT_LIST:
    case OP_TEXT_LIST:
    case OP_ANY:
        break;
    }
    value = json_string(text);
    if (value == NULL)
        err_set(e, ERR_INVALID, "%s is not UTF-8", p->name);
    return value;
}

static const struct op_param *find_param(const struct op *op, const char *name, size_t len)
{
    for (const struct op_param *p = op->params; p->name != NULL; p++)
        if (strlen(p->name) == len && memcmp(p->name, name, len) == 0)
            return p;
    return NULL;
}

static json_t *object_in(json_t *args, const char *name)
{
    json_t *object = json_object_get(args, name);
    if (object == NULL)
        json_object_set_new(args, name, object = json_object());
    return object;
}

static int op_take_flag(const struct op_made *made, const struct cli_given *given, json_t *args,
                        struct err *e)
{
    size_t i = 0;
    while (i < made->n_flags && given->flag != &made->flags[i])
        i++;
    if (i == made->n_flags || made->meant[i].param == NULL)
        return 0; /* of every verb, or --all */
    const struct op_param *p = made->meant[i].param, *member = made->meant[i].member;
    if (p->type == OP_TEXTS) {
        /* NAME=VALUE into an object of texts; NAME alone is what the variable is here. */
        const char *equals = strchr(given->value, '=');
        size_t len = equals != NULL ? (size_t)(equals - given->value) : strlen(given->value);
        _free_ char *name = mem_copy(given->value, len + 1);
        name[len] = '\0';
        const char *item = equals != NULL ? equals + 1 : getenv(name);
        if (len == 0 || item == NULL) {
            err_set(e, ERR_INVALID, "%s: '%.64s' has no %s", p->name, given->value,
                    len == 0 ? "name" : "value here");
            return err_advise(e, "write it as NAME=VALUE");
        }
        if (json_object_set_new(object_in(args, p->name), name, json_string(item)) < 0)
            return err_set(e, ERR_INVALID, "%s %.64s is not UTF-8", p->name, name);
        return 0;
    }
    const struct op_param *of = member != NULL ? member : p;
    json_t *value = of->type == OP_BOOL ? json_true() : op_read_value(of, given->value, e);
    if (value == NULL)
        return -1;
    json_object_set_new(member != NULL ? object_in(args, p->name) : args, of->name, value);
    return 0;
}

/* "cell..." is "cell", which may be given again. */
struct op_place {
    const struct op_param *param;
    bool is_optional, is_repeated;
};

static struct op_place place_at(const struct op *op, size_t i)
{
    const char *const *takes = op->verb->takes;
    for (size_t k = 0; takes != NULL && takes[k] != NULL; k++) {
        size_t len = strcspn(takes[k], "?.");
        if (k == i)
            return (struct op_place){.param = find_param(op, takes[k], len),
                                     .is_optional = takes[k][len] == '?',
                                     .is_repeated = takes[k][len] == '.'};
    }
    return (struct op_place){0};
}

static const char *label_of(const struct op_param *p, char ret[64])
{
    const char *name = p->means == OP_MEANS_SESSION    ? "SESSION"
                       : p->means == OP_MEANS_NOTEBOOK ? "NOTEBOOK"
                                                       : p->name;
    size_t i = 0;
    for (; name[i] != '\0' && i < 63; i++)
        ret[i] = name[i] == '_' ? '-' : (char)toupper((unsigned char)name[i]);
    ret[i] = '\0';
    return ret;
}

static int take_words(const struct op *op, const struct cli_args *args, json_t *taken,
                      json_t *repeated, struct err *e)
{
    struct op_place place = place_at(op, 0);
    size_t i = 0;
    char label[64];
    for (size_t word = 0; word < args->n_words; word++) {
        if (place.param == NULL) {
            err_set(e, ERR_INVALID, "'%.64s' is too much", args->words[word]);
            return err_advise(e, "cella %s takes: %s", op->verb->words, args->verb->usage);
        }
        json_t *value = op_read_value(place.param, args->words[word], e);
        if (value == NULL)
            return -1;
        if (place.is_repeated) {
            json_array_append_new(repeated, value);
        } else {
            json_object_set_new(taken, place.param->name, value);
            place = place_at(op, ++i);
        }
    }
    bool has_enough = place.param == NULL || place.is_optional ||
                      (place.is_repeated && json_array_size(repeated) > 0);
    if (has_enough ||
        (place.is_repeated && place.param->means == OP_MEANS_SESSION && cli_has(args, "all")))
        return 0;
    err_set(e, ERR_INVALID, "%s is missing", label_of(place.param, label));
    return err_advise(e, "cella %s takes: %s%s", op->verb->words, args->verb->usage,
                      place.param->means == OP_MEANS_SESSION ? "; list the sessions with: cella ps"
                                                             : "");
}

/* The beginning of an id becomes the id. */
static int resolve(struct cli_client *c, const struct op_param *p, json_t **value, struct err *e)
{
    char notebook[CLI_NOTEBOOK_ID_SIZE];
    struct cli_session session;
    const char *text = json_string_value(*value);
    if (text == NULL)
        return 0;
    if (p->means == OP_MEANS_SESSION || p->means == OP_MEANS_JOINED) {
        if (cli_session_find(c, text, &session, e) < 0)
            return -1;
        *value = json_string(session.id);
    } else if (p->means == OP_MEANS_NOTEBOOK) {
        if (cli_notebook_find(c, text, notebook, e) < 0)
            return -1;
        *value = json_string(notebook);
    }
    return 0;
}

static int op_resolve_all(struct cli_client *c, const struct op *op, json_t *args, struct err *e)
{
    for (const struct op_param *p = op->params; p->name != NULL; p++) {
        json_t *value = json_object_get(args, p->name), *found = value;
        if (value == NULL)
            continue;
        if (resolve(c, p, &found, e) < 0)
            return -1;
        if (found != value)
            json_object_set_new(args, p->name, found);
    }
    return 0;
}

/* ---- the verb -------------------------------------------------------------------------------- */

/* A list that has another page goes on with it, unless the caller wants a page. */
static int ask_pages(struct cli_client *c, const struct op *op, const json_t *given, json_t *answer,
                     struct err *e)
{
    const struct op_member *list = op->result->members;
    while (list->name != NULL && list->type != OP_LIST)
        list++;
    bool has_all = find_param(op, "cursor", 6) == NULL || list->name == NULL ||
                   json_object_get(given, "cursor") != NULL ||
                   json_object_get(given, "limit") != NULL;
    _json_ json_t *next = has_all ? NULL : json_incref(json_object_get(answer, "next"));
    while (json_is_string(next)) {
        _json_ json_t *page = NULL, *asked = json_copy((json_t *)(uintptr_t)given);
        json_object_set(asked, "cursor", next);
        if (cli_op_ask(c, op->name, asked, &page, e) < 0)
            return -1;
        json_t *entries = json_object_get(page, list->name);
        json_array_extend(json_object_get(answer, list->name), entries);
        json_decref(next);
        next = json_array_size(entries) > 0 ? json_incref(json_object_get(page, "next")) : NULL;
    }
    if (!has_all) {
        json_object_del(answer, "next");
        json_object_set_new(
            answer, "count",
            json_integer((json_int_t)json_array_size(json_object_get(answer, list->name))));
    }
    return 0;
}

static int ask_and_show(const struct cli_args *args, struct cli_client *c, const struct op *op,
                        json_t *given, struct err *e)
{
    _buf_ struct buf path = BUF_INIT(OP_PATH_BYTES), body = BUF_INIT(OP_BODY_BYTES);
    struct cli_request request;
    if (cli_op_request(op, given, &path, &body, &request, e) < 0)
        return -1;
    if (op->sends != NULL) {
        _buf_ struct buf bytes = {0};
        if (cli_api_fetch(c, &request, &bytes, e) < 0)
            return -1;
        return fd_write_all(STDOUT_FILENO, buf_str(&bytes), bytes.len) < 0 ? CLI_EXIT_PIPE : 0;
    }
    _json_ json_t *answer = NULL;
    if (cli_api_call(c, &request, &answer, e) < 0 || ask_pages(c, op, given, answer, e) < 0)
        return -1;
    if (cli_has(args, "json"))
        return cli_print_json(answer) ? 0 : CLI_EXIT_PIPE;
    return cli_op_show(c, op, given, answer);
}

struct op_order {
    json_t *given;    /* arguments */
    json_t *repeated; /* values of the parameter that may be given again */
};

/* Every id is found before the first call, so that a typo does nothing. */
static int find_repeated(const struct cli_args *args, struct cli_client *c,
                         const struct op_param *p, json_t *repeated, struct err *e)
{
    for (size_t i = 0; i < json_array_size(repeated); i++) {
        json_t *value = json_array_get(repeated, i), *found = value;
        if (resolve(c, p, &found, e) < 0)
            return -1;
        if (found != value)
            json_array_set_new(repeated, i, found);
    }
    if (p->means != OP_MEANS_SESSION || !cli_has(args, "all"))
        return 0;
    _json_ json_t *sessions = NULL;
    if (cli_session_list(c, "", &sessions, e) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(sessions); i++)
        json_array_append(repeated, json_object_get(json_array_get(sessions, i), "session_id"));
    return 0;
}

static int op_work(const struct cli_args *args, struct cli_client *c, void *context, struct err *e)
{
    struct op_order *order = context;
    const struct op *op = args->verb->op;
    const struct op_param *again = NULL;
    for (size_t i = 0; place_at(op, i).param != NULL; i++)
        if (place_at(op, i).is_repeated)
            again = place_at(op, i).param;
    if (op_resolve_all(c, op, order->given, e) < 0)
        return -1;
    if (again == NULL)
        return ask_and_show(args, c, op, order->given, e);
    if (find_repeated(args, c, again, order->repeated, e) < 0)
        return -1;
    /* From the last to the first: numbers of cells mean what they meant when they were typed. */
    for (size_t i = json_array_size(order->repeated); i > 0; i--) {
        json_object_set(order->given, again->name, json_array_get(order->repeated, i - 1));
        int status = ask_and_show(args, c, op, order->given, e);
        /* Gone meanwhile is what `kill --all` asks for. */
        bool is_gone = status < 0 && (e->code == ERR_NOT_FOUND || e->code == ERR_GONE) &&
                       again->means == OP_MEANS_SESSION && cli_has(args, "all");
        if (status != 0 && !is_gone)
            return status;
    }
    return 0;
}

static int op_verb_run(const struct cli_args *args, struct err *e)
{
    const struct op *op = args->verb->op;
    const struct op_made *made = CONTAINER_OF(args->verb, struct op_made, verb);
    _json_ json_t *given = json_object(), *repeated = json_array();
    for (size_t i = 0; i < args->n_given; i++)
        if (op_take_flag(made, &args->given[i], given, e) < 0)
            return -1;
    if (take_words(op, args, given, repeated, e) < 0)
        return -1;
    struct op_order order = {.given = given, .repeated = repeated};
    /* What is kept on disk is there also if no daemon runs. */
    bool may_start = op->flags & OP_MAKES_SESSION || op->subject == OP_ON_NOTEBOOK ||
                     op->subject == OP_ON_CELL || op->subject == OP_ON_STATE;
    return cli_client_with(args, may_start, op_work, &order, e);
}

/* ---- the table of flags ---------------------------------------------------------------------- */

static const char *value_name(const struct op_param *p)
{
    switch (p->type) {
    case OP_BOOL:
        return NULL;
    case OP_INT:
        return p->unit == OP_MS || p->unit == OP_SECS ? "DURATION"
               : p->unit == OP_SIZED                  ? "SIZE"
                                                      : "N";
    case OP_TEXTS:
        return "NAME=VALUE";
    case OP_OBJECT:
    case OP_LIST:
    case OP_FREE:
        return "JSON";
    case OP_TEXT:
        return p->means == OP_MEANS_JOINED || p->means == OP_MEANS_SESSION ? "ID" : "TEXT";
    case OP_CHOICE:
        return "WHAT";
    case OP_FILE:
    case OP_NUMBER:
    case OP_TIME:
    case OP_SIZE:
    case OP_INT_LIST:
    case OP_TEXT_LIST:
    case OP_ANY:
        break;
    }
    return "VALUE";
}

static void add_flag(struct op_made *made, const struct op_param *p, const struct op_param *member)
{
    const struct op_param *of = member != NULL ? member : p;
    if (made->n_flags + 2 >= FLAGS_MAX)
        return;
    char *name = mem_strdup(of->name);
    char *suffix = of->unit == OP_MS     ? strstr(name, "_ms")
                   : of->unit == OP_SECS ? strstr(name, "_secs")
                                         : NULL;
    if (suffix != NULL)
        *suffix = '\0';
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    made->meant[made->n_flags] = (struct op_flag){.param = p, .member = member};
    made->flags[made->n_flags++] = (struct cli_flag){
        .name = name, .letter = of->letter, .value = value_name(of), .doc = of->doc};
}

static bool is_taken(const struct op *op, const struct op_param *p)
{
    for (size_t i = 0; place_at(op, i).param != NULL; i++)
        if (place_at(op, i).param == p)
            return true;
    return false;
}

static void write_usage(struct op_made *made, const struct op *op)
{
    char label[64];
    size_t used = (size_t)snprintf(made->usage, sizeof(made->usage), "[OPTION...]");
    for (size_t i = 0; place_at(op, i).param != NULL && used < sizeof(made->usage); i++) {
        struct op_place place = place_at(op, i);
        label_of(place.param, label);
        used += (size_t)snprintf(made->usage + used, sizeof(made->usage) - used,
                                 place.is_optional   ? " [%s]"
                                 : place.is_repeated ? " %s..."
                                                     : " %s",
                                 label);
        if (place.is_repeated && place.param->means == OP_MEANS_SESSION) {
            used += (size_t)snprintf(made->usage + used, sizeof(made->usage) - used, " | --all");
            made->flags[made->n_flags++] =
                (struct cli_flag){.name = "all", .letter = 'a', .doc = "every session"};
        }
    }
}

const struct cli_verb *cli_op_verb(const struct op *op)
{
    static const struct op_made *known[OP_VERBS_MAX];
    size_t at = 0;
    while (op_table[at] != op)
        at++;
    if (op->verb == NULL || at >= OP_VERBS_MAX)
        return NULL;
    if (known[at] != NULL)
        return &known[at]->verb;
    struct op_made *made = mem_alloc(sizeof(*made));
    for (const struct op_param *p = op->params; p->name != NULL; p++) {
        if (is_taken(op, p))
            continue;
        if (p->type != OP_OBJECT)
            add_flag(made, p, NULL);
        for (const struct op_param *m = p->members; p->type == OP_OBJECT && m->name != NULL; m++)
            add_flag(made, p, m);
    }
    write_usage(made, op);
    made->verb = (struct cli_verb){
        .name = op->verb->words,
        .summary = op->verb->summary,
        .usage = made->usage,
        .about = op->verb->about != NULL ? op->verb->about : op->doc,
        .flags = made->flags,
        .is_client = true,
        .examples = op->verb->examples,
        .run = op_verb_run,
        .op = op,
    };
    known[at] = made;
    return &made->verb;
}

/* ---- cella call ------------------------------------------------------------------------------ */

static const struct cli_flag call_flags[] = {
    {"file", 'f', "FILE",
     "for an operation whose body is bytes: what to send ('-': standard input)"},
    {0},
};

static int read_pairs(const struct cli_args *args, const struct op *op, json_t *given,
                      struct err *e)
{
    for (size_t i = 1; i < args->n_words; i++) {
        const char *word = args->words[i], *equals = strchr(word, '=');
        size_t len = equals != NULL ? (size_t)(equals - word) : strlen(word);
        const struct op_param *p = find_param(op, word, len);
        if (p == NULL || equals == NULL) {
            _buf_ struct buf known = BUF_INIT(4 * KIB);
            for (const struct op_param *k = op->params; k->name != NULL; k++)
                buf_printf(&known, "%s%s", k == op->params ? "" : ", ", k->name);
            err_set(e, ERR_INVALID, "'%.64s' is no argument of %s", word, op->name);
            return err_advise(e, "write NAME=VALUE; it takes: %s", buf_str(&known));
        }
        struct op_param plain = *p;
        plain.unit = OP_PLAIN; /* as the API has it */
        json_t *value = op_read_value(&plain, equals + 1, e);
        if (value == NULL)
            return -1;
        json_object_set_new(given, p->name, value);
    }
    return 0;
}

static bool print_event(void *context, const char *name, const char *data, size_t len)
{
    struct err ignored;
    _json_ json_t *event = NULL;
    (void)context;
    if (cli_api_read(data, len, &event, &ignored) < 0)
        return false;
    _json_ json_t *line = json_pack("{s:s, s:O}", "event", name, "data", event);
    return cli_print_json(line);
}

static int call_work(const struct cli_args *args, struct cli_client *c, void *context,
                     struct err *e)
{
    json_t *given = context;
    const struct op *op = op_find(args->words[0]);
    const char *file = cli_value(args, "file");
    _buf_ struct buf path = BUF_INIT(OP_PATH_BYTES), body = BUF_INIT(OP_BODY_BYTES);
    struct cli_request request;
    if (op->flags & OP_TAKES_BYTES && file != NULL && cli_document_read_bytes(file, &body, e) < 0)
        return err_context(e, "%.200s", file);
    if (op_resolve_all(c, op, given, e) < 0 ||
        cli_op_request(op, given, &path, &body, &request, e) < 0)
        return -1;
    if (op->sends != NULL) {
        _buf_ struct buf bytes = {0};
        if (cli_api_fetch(c, &request, &bytes, e) < 0)
            return -1;
        return fd_write_all(STDOUT_FILENO, buf_str(&bytes), bytes.len) < 0 ? CLI_EXIT_PIPE : 0;
    }
    _json_ json_t *answer = NULL;
    if (op->flags & OP_ONLY_STREAMS) {
        request.on_event = print_event;
        request.deadline_ms = 0;
    }
    if (cli_api_call(c, &request, &answer, e) < 0)
        return -1;
    return answer == NULL || cli_print_json(answer) ? 0 : CLI_EXIT_PIPE;
}

static int call_run(const struct cli_args *args, struct err *e)
{
    _json_ json_t *given = json_object();
    if (args->n_words == 0) {
        _buf_ struct buf out = BUF_INIT(MIB);
        for (const struct op *const *each = op_table; *each != NULL; each++)
            buf_printf(&out, "%-22s %s\n", (*each)->name, (*each)->doc);
        fd_write_all(STDOUT_FILENO, buf_str(&out), out.len);
        return 0;
    }
    const struct op *op = op_find(args->words[0]);
    if (op == NULL) {
        const char *names[OP_VERBS_MAX];
        size_t n = 0;
        for (; op_table[n] != NULL && n < OP_VERBS_MAX; n++)
            names[n] = op_table[n]->name;
        const char *nearest = cli_nearest(args->words[0], names, n);
        err_set(e, ERR_INVALID, "there is no operation '%.64s'", args->words[0]);
        if (nearest != NULL)
            return err_advise(e, "did you mean %s? All of them: cella call", nearest);
        return err_advise(e, "all of them: cella call");
    }
    if (read_pairs(args, op, given, e) < 0)
        return -1;
    return cli_client_with(args, true, call_work, given, e);
}

const struct cli_verb cli_call_verb = {
    .name = "call",
    .subject = OP_ON_DAEMON,
    .summary = "call any operation of the API",
    .usage = "[OPTION...] [OPERATION [NAME=VALUE...]]",
    .about = "Calls an operation by its name, with its parameters as docs/API.md has them, and\n"
             "prints the answer as JSON, or the bytes of a file. Objects and lists are given as\n"
             "JSON; the beginning of an id is enough. Without arguments: lists the operations.",
    .flags = call_flags,
    .is_client = true,
    .examples = "cella call\n"
                "cella call session.exec session_id=0b9c code='1 + 1'\n"
                "cella call session.create limits='{\"memory_mb\": 256}'",
    .run = call_run,
};
