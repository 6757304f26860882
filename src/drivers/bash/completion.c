/* In the shell's process: what could stand at the cursor (commands, variables, files), and what
 * does. Bash's tables and directories are read; none of its code runs, nor any of the user's. */

/* clang-format off */
#include "drivers/bash/shell.h"
/* clang-format on */

#include "drivers/bash/completion.h"

#include "base/buf.h"
#include "drivers/bash/names.h"
#include "wire/json.h"

#include <ctype.h>
#include <dirent.h>
#include <sys/stat.h>

enum {
    MATCHES_MAX = 500,
    ENTRIES_MAX = 20000, /* of directories, looked at */
    WORD_MAX = 4096,
    SOURCE_MAX = 16 * 1024,
};

#define MATCHES_BYTES_MAX (40 * KIB)
#define SEPARATORS " \t\n;|&()<>`=\"'"

struct match {
    char *text;
    const char *kind;
};

struct search {
    const char *prefix; /* without the directory and the backslashes */
    size_t prefix_len;
    bool is_quoted; /* names of files stand as they are */
    struct match *matches;
    size_t n, cap;
    size_t n_entries;
};

/* ---- where ----------------------------------------------------------------------------------- */

static size_t bytes_before(const char *code, int64_t cursor)
{
    size_t i = 0;
    while (code[i] != '\0' && (cursor > 0 || ((unsigned char)code[i] & 0xc0) == 0x80))
        cursor -= ((unsigned char)code[i++] & 0xc0) != 0x80;
    return i;
}

static int64_t count_characters(const char *text, size_t len)
{
    int64_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

/* The quote that is open at the end of a text, and where it was opened; 0 if none is. */
static char open_quote(const char *code, size_t end, size_t *ret_at)
{
    char quote = 0;
    for (size_t i = 0; i < end; i++) {
        if (code[i] == '\\' && quote != '\'')
            i++;
        else if (quote == 0 && (code[i] == '\'' || code[i] == '"'))
            quote = code[ *ret_at = i];
        else if (code[i] == quote)
            quote = 0;
    }
    return quote;
}

static size_t word_start(const char *code, size_t end)
{
    size_t at = 0;
    if (open_quote(code, end, &at) != 0)
        return at + 1;
    size_t start = end;
    while (start > 0 &&
           (strchr(SEPARATORS, code[start - 1]) == NULL || (start > 1 && code[start - 2] == '\\')))
        start--;
    return start;
}

/* A command would stand there. */
static bool is_command_place(const char *code, size_t start)
{
    static const char *const openers[] = {"then",  "do",    "else", "elif", "if",
                                          "while", "until", "!",    "time", "{"};
    size_t end = start;
    while (end > 0 && (code[end - 1] == ' ' || code[end - 1] == '\t'))
        end--;
    if (end == 0 || strchr(";|&(\n`", code[end - 1]) != NULL)
        return true;
    size_t begin = word_start(code, end);
    for (size_t i = 0; i < ARRAY_LEN(openers); i++)
        if (strlen(openers[i]) == end - begin && memcmp(code + begin, openers[i], end - begin) == 0)
            return true;
    return false;
}

/* ---- what there is --------------------------------------------------------------------------- */

static void add(struct search *s, const char *text, const char *kind)
{
    if (strncmp(text, s->prefix, s->prefix_len) != 0 || s->n >= 4 * MATCHES_MAX)
        return;
    if (s->n == s->cap) {
        s->cap = MAX(2 * s->cap, (size_t)64);
        s->matches = mem_realloc(s->matches, s->cap * sizeof(*s->matches));
    }
    s->matches[s->n++] = (struct match){mem_strdup(text), kind};
}

static void add_keys(struct search *s, HASH_TABLE *table, const char *kind)
{
    for (int i = 0; table != NULL && i < table->nbuckets; i++)
        for (BUCKET_CONTENTS *b = table->bucket_array[i]; b != NULL; b = b->next)
            add(s, b->key, kind);
}

/* `programs`: only what can be run. */
static void add_directory(struct search *s, const char *path, bool programs)
{
    struct dirent *entry;
    struct stat st;
    DIR *dir = opendir(path);
    while (dir != NULL && s->n_entries < ENTRIES_MAX && (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;
        s->n_entries++;
        if (strncmp(name, s->prefix, s->prefix_len) != 0 || strcmp(name, ".") == 0 ||
            strcmp(name, "..") == 0 || (name[0] == '.' && s->prefix_len == 0) ||
            fstatat(dirfd(dir), name, &st, 0) < 0)
            continue;
        if (programs) {
            if (S_ISREG(st.st_mode) && (st.st_mode & 0111) != 0)
                add(s, name, "program");
            continue;
        }
        _buf_ struct buf shown = BUF_INIT(2 * WORD_MAX);
        buf_append_str(&shown, name);
        if (S_ISDIR(st.st_mode))
            buf_append_char(&shown, '/');
        add(s, buf_str(&shown), "path");
    }
    if (dir != NULL)
        closedir(dir);
}

static void add_commands(struct search *s)
{
    extern STRING_INT_ALIST word_token_alist[];
    const SHELL_VAR *path = find_variable("PATH");
    add_keys(s, shell_functions, "function");
    add_keys(s, aliases, "alias");
    for (int i = 0; i < num_shell_builtins; i++)
        if (shell_builtins[i].function != NULL && shell_builtins[i].flags & BUILTIN_ENABLED)
            add(s, shell_builtins[i].name, "builtin");
    for (size_t i = 0; word_token_alist[i].word != NULL; i++)
        add(s, word_token_alist[i].word, "keyword");
    if (path == NULL || path->value == NULL || s->prefix_len == 0)
        return;
    _free_ char *places = mem_strdup(path->value);
    char *save = NULL;
    for (char *place = strtok_r(places, ":", &save); place != NULL;
         place = strtok_r(NULL, ":", &save))
        add_directory(s, place, true);
}

static int by_text(const void *left, const void *right)
{
    const struct match *a = left, *b = right;
    return strcmp(a->text, b->text);
}

/* Each text once. */
static void put_matches(struct json_out *json, struct search *s)
{
    size_t n_put = 0, limit = json->buf->len + MATCHES_BYTES_MAX;
    bool has_more = false;
    qsort(s->matches, s->n, sizeof(*s->matches), by_text);
    json_put_key(json, "matches");
    json_put_array(json);
    for (size_t i = 0; i < s->n; i++) {
        const struct match *m = &s->matches[i];
        if (i > 0 && strcmp(m->text, s->matches[i - 1].text) == 0)
            continue;
        has_more = n_put == MATCHES_MAX || json->buf->len > limit;
        if (has_more)
            break;
        bool is_escaped = strcmp(m->kind, "path") == 0 && !s->is_quoted;
        char *shown = is_escaped ? sh_backslash_quote(m->text, 0, 0) : m->text;
        json_put_object(json);
        json_put_member_str(json, "text", shown);
        json_put_member_str(json, "kind", m->kind);
        json_put_object_end(json);
        n_put++;
        if (is_escaped)
            xfree(shown);
    }
    json_put_array_end(json);
    if (has_more)
        json_put_member_bool(json, "more", true);
    for (size_t i = 0; i < s->n; i++)
        free(s->matches[i].text);
    free(s->matches);
}

/* Of a file's name as it is typed: without its backslashes. */
static void append_plain(struct buf *out, const char *typed, size_t len, bool is_quoted)
{
    for (size_t i = 0; i < len; i++) {
        if (typed[i] == '\\' && !is_quoted && i + 1 < len)
            i++;
        buf_append_char(out, typed[i]);
    }
}

/* Where the part begins that matches replace. */
static size_t find_files(struct search *s, const char *code, size_t start, size_t end,
                         struct buf *word)
{
    const char *home = NULL;
    const SHELL_VAR *variable = find_variable("HOME");
    append_plain(word, code + start, end - start, s->is_quoted);
    if (variable != NULL && word->len > 1 && word->data[0] == '~' && word->data[1] == '/')
        home = variable->value;
    char *slash = strrchr(word->data != NULL ? word->data : (char *)(uintptr_t) "", '/');
    const char *name = slash != NULL ? slash + 1 : buf_str(word);
    _buf_ struct buf place = BUF_INIT(2 * WORD_MAX);
    if (slash == NULL)
        buf_append_char(&place, '.');
    else if (home != NULL)
        buf_printf(&place, "%s%.*s", home, (int)(slash - word->data), word->data + 1);
    else
        buf_append(&place, word->data, (size_t)(slash + 1 - word->data));
    s->prefix = name;
    s->prefix_len = strlen(name);
    add_directory(s, buf_str(&place), false);
    size_t at = end;
    while (at > start && code[at - 1] != '/')
        at--;
    return at;
}

void completion_put(struct json_out *json, const char *code, int64_t cursor)
{
    size_t end = bytes_before(code, cursor), at = 0, start = word_start(code, end);
    struct search s = {.is_quoted = open_quote(code, end, &at) != 0};
    _buf_ struct buf word = BUF_INIT(WORD_MAX);
    const char *dollar = end > start ? memrchr(code + start, '$', end - start) : NULL;
    size_t name = dollar != NULL ? (size_t)(dollar - code) + 1 + (dollar[1] == '{') : 0;
    bool is_variable = dollar != NULL && name <= end;
    for (size_t i = name; is_variable && i < end; i++)
        is_variable = isalnum((unsigned char)code[i]) || code[i] == '_';
    bool is_plain = memchr(code + start, '/', end - start) == NULL && !s.is_quoted;
    if (end - start >= WORD_MAX) {
        start = end; /* nobody has typed that */
    } else if (is_variable) {
        start = name;
        buf_append(&word, code + start, end - start);
        s.prefix = buf_str(&word);
        s.prefix_len = word.len;
        char **names = all_variables_matching_prefix(s.prefix);
        for (size_t i = 0; names != NULL && names[i] != NULL; i++)
            add(&s, names[i], "variable");
        strvec_dispose(names);
    } else if (is_plain && is_command_place(code, start)) {
        buf_append(&word, code + start, end - start);
        s.prefix = buf_str(&word);
        s.prefix_len = word.len;
        add_commands(&s);
    } else {
        start = find_files(&s, code, start, end, &word);
    }
    json_put_member_int(json, "start", count_characters(code, start));
    json_put_member_int(json, "end", count_characters(code, end));
    put_matches(json, &s);
}

/* ---- what stands there ----------------------------------------------------------------------- */

static void put_source(struct json_out *json, const char *name)
{
    const BUCKET_CONTENTS *found = hash_search(name, shell_functions, 0);
    if (found == NULL)
        return;
    SHELL_VAR *function = found->data;
    const char *source = named_function_string((char *)(uintptr_t)name, function_cell(function),
                                               FUNC_MULTILINE | FUNC_EXTERNAL);
    size_t len = strnlen(source, SOURCE_MAX);
    while (len > 0 && ((unsigned char)source[len] & 0xc0) == 0x80)
        len--;
    json_put_member_text(json, "source", source, len);
}

static bool put_builtin(struct json_out *json, const char *name)
{
    for (int i = 0; i < num_shell_builtins; i++) {
        const struct builtin *b = &shell_builtins[i];
        if (strcmp(b->name, name) != 0 || b->function == NULL)
            continue;
        _buf_ struct buf doc = BUF_INIT(SOURCE_MAX);
        for (size_t k = 0; b->long_doc != NULL && b->long_doc[k] != NULL; k++)
            buf_printf(&doc, "%s%s", k > 0 ? "\n" : "", b->long_doc[k]);
        json_put_member_str(json, "name", name);
        json_put_member_str(json, "type", "builtin");
        json_put_member_str(json, "signature", b->short_doc);
        if (doc.len > 0)
            json_put_member_text(json, "doc", buf_str(&doc), doc.len);
        return true;
    }
    return false;
}

/* Somebody may have changed PATH to what is not there; nothing is hashed. */
static bool put_program(struct json_out *json, const char *name)
{
    const SHELL_VAR *path = find_variable("PATH");
    struct stat st;
    if (path == NULL || path->value == NULL || strchr(name, '/') != NULL)
        return false;
    _free_ char *places = mem_strdup(path->value);
    char *save = NULL;
    for (char *place = strtok_r(places, ":", &save); place != NULL;
         place = strtok_r(NULL, ":", &save)) {
        _buf_ struct buf file = BUF_INIT(2 * WORD_MAX);
        buf_printf(&file, "%s/%s", place, name);
        if (file.overflowed || stat(buf_str(&file), &st) < 0 || !S_ISREG(st.st_mode) ||
            (st.st_mode & 0111) == 0)
            continue;
        json_put_member_str(json, "name", name);
        json_put_member_str(json, "type", "program");
        json_put_member_str(json, "file", buf_str(&file));
        return true;
    }
    return false;
}

static bool put_other(struct json_out *json, const char *name)
{
    const alias_t *alias = find_alias((char *)(uintptr_t)name);
    if (alias != NULL) {
        json_put_member_str(json, "name", name);
        json_put_member_str(json, "type", "alias");
        json_put_member_text(json, "text", alias->value, strnlen(alias->value, WORD_MAX / 2));
        return true;
    }
    if (put_builtin(json, name))
        return true;
    if (find_reserved_word((char *)(uintptr_t)name) >= 0) {
        json_put_member_str(json, "name", name);
        json_put_member_str(json, "type", "keyword");
        return true;
    }
    return put_program(json, name);
}

void completion_put_meaning(struct json_out *json, const char *code, int64_t cursor, bool detail)
{
    size_t end = bytes_before(code, cursor), start = end;
    while (start > 0 && strchr(SEPARATORS "${}[]", code[start - 1]) == NULL)
        start--;
    while (code[end] != '\0' && strchr(SEPARATORS "${}[]", code[end]) == NULL)
        end++;
    _buf_ struct buf name = BUF_INIT(WORD_MAX);
    buf_append(&name, code + start, end - start);
    struct buf told = BUF_INIT(4 * SOURCE_MAX);
    struct json_out members = JSON_OUT(&told);
    bool is_found = name.len > 0 && !name.overflowed;
    if (is_found && names_put_about(&members, buf_str(&name))) {
        if (detail)
            put_source(&members, buf_str(&name));
    } else {
        is_found = is_found && put_other(&members, buf_str(&name));
    }
    json_put_member_bool(json, "found", is_found);
    if (is_found)
        json_put_raw(json, told.data, told.len);
    buf_free(&told);
}
