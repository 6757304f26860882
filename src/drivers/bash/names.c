/* Variables and functions: listed, and compared before and after a cell. In the shell's process;
 * owns what was known before the cell. */
/* clang-format off */
#include "drivers/bash/shell.h"
/* clang-format on */

#include "drivers/bash/names.h"

enum {
    COMPARED_MAX = 300, /* names of the user's */
    SAMPLE_BYTES = 256, /* compared at each end of a text */
    SAMPLE_ELEMENTS = 32,
    LISTED_MAX = 100, /* in each of added, changed, removed */
    NAME_BYTES_MAX = 200,
    TEXT_BYTES_MAX = 76,
    SEEN_BODY = 1 << 30,
};

#define MANIFEST_BYTES_MAX (60 * KIB)

#define HASH_START 14695981039346656037ULL

/* One name of the user's, as it was when it was last looked at. */
struct entry {
    char *name;
    uint64_t value;
    bool is_function;
    bool is_new; /* a function whose body was not there at the look before */
};

struct entries {
    struct entry *items;
    size_t n;
    size_t cap;
};

enum { LIST_ADDED, LIST_CHANGED, LIST_REMOVED, N_LISTS };

static struct {
    HASH_TABLE *given;     /* names of variables that are not the user's */
    struct entries known;  /* if is_fresh: all there are, sorted */
    bool is_fresh;         /* is `known` true as of the end of the last cell? */
    enum names_wish wish;  /* of the running cell */
    struct buf changes;    /* members of JSON: of the last cell, or empty */
    bool has_more_changes; /* than are listed */
} names;

/* ---- which are the user's -------------------------------------------------------------------- */

static bool is_shells(const char *name)
{
    static const char *const made_later[] = {"PIPESTATUS", "OLDPWD", "COLUMNS", "LINES",
                                             "FUNCNAME",   "OPTARG", "TMOUT",   "POSIXLY_CORRECT"};
    if (name[0] == '_' || strncmp(name, "BASH_", 5) == 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(made_later); i++)
        if (strcmp(made_later[i], name) == 0)
            return true;
    return false;
}

static bool is_users(const SHELL_VAR *variable)
{
    if (invisible_p(variable) || variable->name[0] == '_')
        return false;
    return function_p(variable) ||
           (!is_shells(variable->name) && hash_search(variable->name, names.given, 0) == NULL);
}

static void walk(HASH_TABLE *table, void (*visit)(SHELL_VAR *, void *), void *context)
{
    for (int i = 0; table != NULL && i < table->nbuckets; i++)
        for (BUCKET_CONTENTS *b = table->bucket_array[i]; b != NULL; b = b->next)
            if (is_users(b->data))
                visit(b->data, context);
}

static void walk_all(void (*visit)(SHELL_VAR *, void *), void *context)
{
    walk(global_variables->table, visit, context);
    walk(shell_functions, visit, context);
}

static void count_one(SHELL_VAR *variable, void *context)
{
    (void)variable;
    ++*(size_t *)context;
}

static size_t count(void)
{
    size_t n = 0;
    walk_all(count_one, &n);
    return n;
}

/* ---- what is compared ------------------------------------------------------------------------ */

static uint64_t mix(uint64_t hash, const void *data, size_t len)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ at[i]) * 1099511628211ULL;
    return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);
    hash = mix(hash, &len, sizeof(len));
    size_t head = MIN(len, (size_t)SAMPLE_BYTES);
    hash = mix(hash, text, head);
    size_t tail = MIN(len - head, (size_t)SAMPLE_BYTES);
    return tail == 0 ? hash : mix(hash, text + len - tail, tail);
}

static uint64_t hash_value(SHELL_VAR *variable)
{
    int attributes = variable->attributes & attmask_user;
    uint64_t hash = mix(HASH_START, &attributes, sizeof(attributes));
    if (array_p(variable)) {
        ARRAY *array = array_cell(variable);
        arrayind_t bounds[] = {array_num_elements(array), array_max_index(array)};
        hash = mix(hash, bounds, sizeof(bounds));
        int left = SAMPLE_ELEMENTS;
        for (ARRAY_ELEMENT *e = element_forw(array->head); e != array->head && left > 0; left--) {
            hash = mix_text(hash, element_value(e));
            e = element_forw(e);
        }
        return hash;
    }
    if (assoc_p(variable)) {
        HASH_TABLE *map = assoc_cell(variable);
        hash = mix(hash, &map->nentries, sizeof(map->nentries));
        int left = SAMPLE_ELEMENTS;
        for (int i = 0; i < map->nbuckets && left > 0; i++)
            for (BUCKET_CONTENTS *b = map->bucket_array[i]; b != NULL && left > 0;
                 b = b->next, left--)
                hash = mix_text(mix_text(hash, b->key), b->data);
        return hash;
    }
    return mix_text(hash, variable->value);
}

void names_begin_session(void)
{
    names.given = hash_create(0);
    names.changes = BUF_INIT(MANIFEST_BYTES_MAX);
    HASH_TABLE *table = global_variables->table;
    for (int i = 0; i < table->nbuckets; i++)
        for (BUCKET_CONTENTS *b = table->bucket_array[i]; b != NULL; b = b->next) {
            BUCKET_CONTENTS *given = hash_insert(savestring(b->key), names.given, HASH_NOSRCH);
            uint64_t value = hash_value(b->data);
            given->data = mem_copy(&value, sizeof(value));
        }
}

/* A function that was defined again has another body, perhaps at the same address. So bodies that
 * were looked at are marked, with a flag that bash has no use for. */
static bool is_new_body(SHELL_VAR *function)
{
    return !((function_cell(function))->flags & SEEN_BODY);
}

/* ---- looking --------------------------------------------------------------------------------- */

static void forget(struct entries *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->items[i].name);
    list->n = 0;
}

static void note(SHELL_VAR *variable, void *context)
{
    struct entries *list = context;
    if (list->n == list->cap) {
        list->cap = MAX(2 * list->cap, (size_t)64);
        list->items = mem_realloc(list->items, list->cap * sizeof(*list->items));
    }
    struct entry entry = {.name = mem_strdup(variable->name)};
    if (function_p(variable)) {
        entry.is_function = true;
        entry.is_new = is_new_body(variable);
        (function_cell(variable))->flags |= SEEN_BODY;
    } else {
        entry.value = hash_value(variable);
    }
    list->items[list->n++] = entry;
}

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : x->is_function - y->is_function;
}

static bool look(struct entries *list)
{
    forget(list);
    if (count() > COMPARED_MAX)
        return false;
    walk_all(note, list);
    if (list->n > 0)
        qsort(list->items, list->n, sizeof(*list->items), by_name);
    return true;
}

/* True if nothing is new, gone or different: the usual case, without memory or sorting. */
struct sameness {
    size_t n;
    bool is_same;
};

static void compare_one(SHELL_VAR *variable, void *context)
{
    struct sameness *s = context;
    s->n++;
    struct entry key = {.name = variable->name, .is_function = function_p(variable) != 0};
    if (!s->is_same)
        return;
    const struct entry *found =
        names.known.n == 0 ? NULL
                           : bsearch(&key, names.known.items, names.known.n, sizeof(key), by_name);
    s->is_same = found != NULL && (function_p(variable) ? !is_new_body(variable)
                                                        : found->value == hash_value(variable));
}

static bool is_unchanged(void)
{
    struct sameness s = {.is_same = true};
    walk_all(compare_one, &s);
    return s.is_same && s.n == names.known.n;
}

void names_begin_cell(enum names_wish wish)
{
    names.wish = wish;
    buf_clear(&names.changes);
    names.has_more_changes = false;
    if (wish == NAMES_NONE)
        names.is_fresh = false;
    else if (!names.is_fresh)
        names.is_fresh = look(&names.known);
}

/* ---- what there is to be saved --------------------------------------------------------------- */

/* What bash makes, or makes anew whenever it is asked. */
static bool is_special(const SHELL_VAR *variable)
{
    static const char *const made[] = {"_",       "PWD",      "SHLVL", "PIPESTATUS",
                                       "COLUMNS", "FUNCNAME", "LINES", "BASHPID"};
    if (noassign_p(variable) || variable->dynamic_value != NULL ||
        strncmp(variable->name, "BASH_", 5) == 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(made); i++)
        if (strcmp(made[i], variable->name) == 0)
            return true;
    return false;
}

static bool is_to_be_saved(SHELL_VAR *variable)
{
    if (is_special(variable))
        return false;
    BUCKET_CONTENTS *given = hash_search(variable->name, names.given, 0);
    if (given == NULL)
        return true;
    uint64_t before;
    memcpy(&before, given->data, sizeof(before));
    return !readonly_p(variable) && before != hash_value(variable);
}

static int by_key(const void *a, const void *b)
{
    const BUCKET_CONTENTS *const *x = a, *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

/* The caller frees the list. */
static BUCKET_CONTENTS **sorted(HASH_TABLE *table, size_t *ret_n)
{
    size_t n = 0;
    BUCKET_CONTENTS **list =
        mem_alloc(((size_t)HASH_ENTRIES(table) + 1) * sizeof(BUCKET_CONTENTS *));
    for (int i = 0; table != NULL && i < table->nbuckets; i++)
        for (BUCKET_CONTENTS *b = table->bucket_array[i]; b != NULL; b = b->next)
            list[n++] = b;
    qsort(list, n, sizeof(*list), by_key);
    *ret_n = n;
    return list;
}

void names_each_variable(void (*visit)(SHELL_VAR *variable), void (*visit_gone)(const char *name))
{
    size_t n;
    _free_ BUCKET_CONTENTS **given = sorted(names.given, &n);
    for (size_t i = 0; i < n; i++)
        if (find_variable_noref(given[i]->key) == NULL)
            visit_gone(given[i]->key);
    _free_ BUCKET_CONTENTS **list = sorted(global_variables->table, &n);
    for (size_t i = 0; i < n; i++)
        if (is_to_be_saved(list[i]->data))
            visit(list[i]->data);
}

void names_each_function(void (*visit)(SHELL_VAR *function))
{
    size_t n;
    _free_ BUCKET_CONTENTS **list = sorted(shell_functions, &n);
    for (size_t i = 0; i < n; i++)
        visit(list[i]->data);
}

/* ---- the manifest ---------------------------------------------------------------------------- */

static void put_name(struct json_out *json, const char *name)
{
    json_put_text(json, name, strnlen(name, NAME_BYTES_MAX));
}

struct change_lists {
    const struct entry *lists[N_LISTS][LISTED_MAX];
    size_t n[N_LISTS];
};

static void add_change(struct change_lists *changes, int list, const struct entry *entry)
{
    if (changes->n[list] < LISTED_MAX)
        changes->lists[list][changes->n[list]++] = entry;
    else
        names.has_more_changes = true;
}

static void write_changes(const struct change_lists *changes)
{
    static const char *const keys[] = {"added", "changed", "removed"};
    struct json_out json = JSON_OUT(&names.changes);
    for (size_t list = 0; list < N_LISTS; list++) {
        json_put_key(&json, keys[list]);
        json_put_array(&json);
        for (size_t i = 0; i < changes->n[list]; i++)
            put_name(&json, changes->lists[list][i]->name);
        json_put_array_end(&json);
    }
}

static void compare(void)
{
    struct change_lists changes = {0};
    if (!names.is_fresh || is_unchanged()) {
        if (names.is_fresh)
            write_changes(&changes);
        return;
    }
    struct entries before = names.known;
    names.known = (struct entries){0};
    names.is_fresh = look(&names.known);
    if (names.is_fresh) {
        /* Both lists are sorted by name. */
        size_t i = 0, j = 0;
        while (i < before.n || j < names.known.n) {
            int order = i == before.n        ? 1
                        : j == names.known.n ? -1
                                             : by_name(&before.items[i], &names.known.items[j]);
            if (order < 0)
                add_change(&changes, LIST_REMOVED, &before.items[i++]);
            else if (order > 0)
                add_change(&changes, LIST_ADDED, &names.known.items[j++]);
            else if (before.items[i++].value != names.known.items[j++].value ||
                     names.known.items[j - 1].is_new)
                add_change(&changes, LIST_CHANGED, &names.known.items[j - 1]);
        }
        write_changes(&changes);
    }
    forget(&before);
    free(before.items);
}

static const char *type_of(const SHELL_VAR *variable)
{
    if (function_p(variable))
        return "function";
    if (array_p(variable))
        return "array";
    if (assoc_p(variable))
        return "map";
    return integer_p(variable) ? "integer" : "scalar";
}

/* Cut between characters. */
static void put_short_text(struct json_out *json, const char *text)
{
    char cut[TEXT_BYTES_MAX + 4];
    size_t len = strlen(text);
    if (len <= TEXT_BYTES_MAX) {
        json_put_member_text(json, "text", text, len);
        return;
    }
    len = TEXT_BYTES_MAX;
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--;
    snprintf(cut, sizeof(cut), "%.*s\xe2\x80\xa6", (int)len, text);
    json_put_member_str(json, "text", cut);
}

static void put_identity(struct json_out *json, SHELL_VAR *variable)
{
    json_put_key(json, "name");
    put_name(json, variable->name);
    json_put_member_str(json, "type", type_of(variable));
}

static bool is_scalar(const SHELL_VAR *variable)
{
    return !function_p(variable) && !array_p(variable) && !assoc_p(variable) &&
           variable->value != NULL;
}

static void put_members(struct json_out *json, SHELL_VAR *variable)
{
    put_identity(json, variable);
    if (array_p(variable)) {
        json_put_member_int(json, "len", array_num_elements(array_cell(variable)));
    } else if (assoc_p(variable)) {
        json_put_member_int(json, "len", HASH_ENTRIES(assoc_cell(variable)));
    } else if (is_scalar(variable)) {
        json_put_member_int(json, "len", (int64_t)strlen(variable->value));
        put_short_text(json, variable->value);
    }
}

bool names_put_about(struct json_out *json, const char *name)
{
    const BUCKET_CONTENTS *found = hash_search(name, global_variables->table, 0);
    if (found == NULL)
        found = hash_search(name, shell_functions, 0);
    if (found == NULL || invisible_p((SHELL_VAR *)found->data))
        return false;
    put_members(json, found->data);
    return true;
}

struct item_list {
    struct json_out *json;
    size_t end; /* the buffer's length that is not to be passed */
    int64_t left;
    bool has_more;
};

static void put_one(SHELL_VAR *variable, void *context)
{
    struct item_list *list = context;
    if (list->left-- <= 0 || list->json->buf->len > list->end)
        list->has_more = true;
    else {
        json_put_object(list->json);
        put_members(list->json, variable);
        json_put_object_end(list->json);
    }
}

static bool put_items(struct json_out *json, int64_t max_items)
{
    struct item_list list = {.json = json,
                             .end = json->buf->len + MANIFEST_BYTES_MAX - names.changes.len,
                             .left = MIN(max_items, (int64_t)NAMES_ITEMS_MAX)};
    json_put_key(json, "items");
    json_put_array(json);
    walk_all(put_one, &list);
    json_put_array_end(json);
    return list.has_more;
}

static void put_manifest(struct json_out *json, int64_t max_items)
{
    bool has_more = names.has_more_changes;
    json_put_key(json, "names");
    json_put_object(json);
    json_put_member_int(json, "total", (int64_t)(names.is_fresh ? names.known.n : count()));
    if (max_items > 0)
        has_more |= put_items(json, max_items);
    if (names.changes.len > 0)
        json_put_raw(json, names.changes.data, names.changes.len);
    if (has_more)
        json_put_member_bool(json, "more", true);
    json_put_object_end(json);
}

void names_put_cell(struct json_out *json)
{
    if (names.wish == NAMES_NONE)
        return;
    compare();
    put_manifest(json, names.wish == NAMES_FULL ? NAMES_ITEMS_MAX : 0);
}

void names_put_all(struct json_out *json, int64_t max_items)
{
    put_manifest(json, MAX(max_items, (int64_t)1));
}

static void put_one_short(SHELL_VAR *variable, void *context)
{
    struct item_list *list = context;
    if (list->left-- <= 0)
        return;
    json_put_object(list->json);
    put_identity(list->json, variable);
    if (is_scalar(variable))
        put_short_text(list->json, variable->value);
    json_put_object_end(list->json);
}

void names_put_short(struct json_out *json, int64_t max_items)
{
    struct item_list list = {.json = json, .left = max_items};
    json_put_array(json);
    walk_all(put_one_short, &list);
    json_put_array_end(json);
}
