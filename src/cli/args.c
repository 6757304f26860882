/* Arguments of a verb, parsed by its table of flags; what was probably meant when a word is
 * unknown. Command line tool. */
#include "cli/args.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>

enum {
    WORD_MAX = 32,       /* longer words are not compared */
    ARGS_NAMES_MAX = 64, /* flags of a verb that a typo is compared with */
};

const struct cli_flag cli_common_flags[] = {
    {"json", 0, NULL, "print JSON, for programs"},
    {"help", 'h', NULL, "show this help"},
    {0},
};

const struct cli_flag cli_client_flags[] = {
    {"data", 0, "DIR", "the daemon's data directory (also CELLA_DATA)"},
    {"url", 0, "URL", "talk to http://HOST:PORT instead (also CELLA_URL)"},
    {"key", 0, "KEY", "the key for --url (also CELLA_KEY; else DIR/key)"},
    {0},
};

/* Insertions, deletions, replacements and neighbours swapped, one each. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (n > WORD_MAX || m > WORD_MAX)
        return SIZE_MAX;
    size_t d[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= n; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= m; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = MIN(best, MIN(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = MIN(best, d[i - 2][j - 2] + 1);
            d[i][j] = best;
        }
    }
    return d[n][m];
}

const char *cli_nearest(const char *word, const char *const *candidates, size_t n)
{
    const char *nearest = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        size_t distance = edit_distance(word, candidates[i]);
        /* Two wrong letters are a typo in a long word and another word in a short one. */
        size_t allowed = strlen(candidates[i]) > 4 ? 2 : 1;
        bool is_start = strlen(word) >= 2 && strncmp(word, candidates[i], strlen(word)) == 0;
        if (is_start)
            distance = 0;
        if (distance <= allowed && distance < least) {
            least = distance;
            nearest = candidates[i];
        }
    }
    return nearest;
}

/* The tables that a verb's flags are looked up in. */
static size_t flag_tables(const struct cli_verb *verb, const struct cli_flag *tables[3])
{
    size_t n = 0;
    if (verb->flags != NULL)
        tables[n++] = verb->flags;
    if (verb->is_client)
        tables[n++] = cli_client_flags;
    tables[n++] = cli_common_flags;
    return n;
}

static const struct cli_flag *find_flag(const struct cli_verb *verb, const char *name, size_t len,
                                        char letter)
{
    const struct cli_flag *tables[3];
    size_t n = flag_tables(verb, tables);
    for (size_t i = 0; i < n; i++) {
        for (const struct cli_flag *f = tables[i]; f->name != NULL; f++) {
            if (letter != 0 && f->letter == letter)
                return f;
            if (letter == 0 && strlen(f->name) == len && memcmp(f->name, name, len) == 0)
                return f;
        }
    }
    return NULL;
}

/* Returns how many words of argv the flag took. */
static int args_take_flag(struct cli_args *args, const struct cli_flag *flag, const char *value,
                          int n_words)
{
    args->given[args->n_given++] = (struct cli_given){.flag = flag, .value = value};
    return n_words;
}

/* "NAME VALUE" asks for two words. They are two entries in `given`, in that order. */
static int take_values(struct cli_args *args, const struct cli_flag *flag, const char *inlined,
                       size_t argc, char **argv, struct err *e)
{
    size_t at = 1, n_values = strchr(flag->value, ' ') != NULL ? 2 : 1;
    for (size_t i = 0; i < n_values; i++) {
        const char *value = i == 0 && inlined != NULL ? inlined : at < argc ? argv[at++] : NULL;
        if (value == NULL) {
            err_set(e, ERR_INVALID, "--%s needs %s: %s", flag->name,
                    n_values > 1 ? "two values" : "a value", flag->value);
            return err_advise(e, "see: cella %s --help", args->verb->name);
        }
        args_take_flag(args, flag, value, 1);
    }
    return (int)at;
}

/* Parses the flag at argv[0]; returns how many of argv it took, or -1. */
static int parse_flag(struct cli_args *args, size_t argc, char **argv, struct err *e)
{
    const char *word = argv[0];
    bool is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1);
    const char *inlined = is_long ? strchr(name, '=') : (name[1] != '\0' ? name + 1 : NULL);
    size_t len = inlined != NULL ? (size_t)(inlined - name) : strlen(name);
    const struct cli_flag *flag = find_flag(args->verb, name, len, is_long ? 0 : *name);
    if (flag == NULL) {
        const struct cli_flag *tables[3];
        size_t n = flag_tables(args->verb, tables), n_names = 0;
        const char *names[ARGS_NAMES_MAX];
        for (size_t i = 0; i < n; i++)
            for (const struct cli_flag *f = tables[i]; f->name != NULL && n_names < ARGS_NAMES_MAX;
                 f++)
                names[n_names++] = f->name;
        const char *nearest = cli_nearest(name, names, n_names);
        err_set(e, ERR_INVALID, "unknown option %.64s", word);
        if (nearest != NULL)
            return err_advise(e, "did you mean --%s? See: cella %s --help", nearest,
                              args->verb->name);
        return err_advise(e, "see: cella %s --help", args->verb->name);
    }
    if (flag->value == NULL) {
        if (inlined != NULL)
            return err_set(e, ERR_INVALID, "--%s takes no value", flag->name);
        return args_take_flag(args, flag, "", 1);
    }
    if (inlined != NULL && is_long)
        inlined++;
    return take_values(args, flag, inlined, argc, argv, e);
}

int cli_args_parse(const struct cli_verb *verb, size_t argc, char **argv, struct cli_args *ret,
                   struct err *e)
{
    *ret = (struct cli_args){.verb = verb};
    ret->words = mem_alloc((argc + 1) * sizeof(*ret->words));
    ret->given = mem_alloc((argc + 1) * sizeof(*ret->given));
    bool is_flags_over = false;
    for (size_t i = 0; i < argc;) {
        const char *word = argv[i];
        /* -1 is a number: no flag is a digit. */
        if (is_flags_over || word[0] != '-' || word[1] == '\0' || isdigit((unsigned char)word[1])) {
            ret->words[ret->n_words++] = word;
            i++;
        } else if (strcmp(word, "--") == 0) {
            is_flags_over = true;
            i++;
        } else {
            int taken = parse_flag(ret, argc - i, argv + i, e);
            if (taken < 0)
                return -1;
            i += (size_t)taken;
        }
    }
    return 0;
}

void cli_args_free(struct cli_args *args)
{
    free(args->words);
    free(args->given);
    *args = (struct cli_args){0};
}

const char *cli_value(const struct cli_args *args, const char *name)
{
    assert(find_flag(args->verb, name, strlen(name), 0) != NULL);
    for (size_t i = args->n_given; i > 0; i--) /* the last one counts */
        if (strcmp(args->given[i - 1].flag->name, name) == 0)
            return args->given[i - 1].value;
    return NULL;
}

const char *cli_value_next(const struct cli_args *args, const char *name, size_t *at)
{
    while (*at < args->n_given) {
        const struct cli_given *given = &args->given[(*at)++];
        if (strcmp(given->flag->name, name) == 0)
            return given->value;
    }
    return NULL;
}

bool cli_has(const struct cli_args *args, const char *name)
{
    return cli_value(args, name) != NULL;
}

bool cli_parse_number(const char *text, int64_t min, int64_t *ret)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || isspace((unsigned char)text[0]) ||
        number < min)
        return false;
    *ret = number;
    return true;
}

int cli_number_flag(const struct cli_args *args, const char *name, int64_t min, int64_t *ret,
                    struct err *e)
{
    const char *text = cli_value(args, name);
    if (text == NULL || cli_parse_number(text, min, ret))
        return 0;
    return err_set(e, ERR_INVALID, "--%s takes a number, not '%.32s'", name, text);
}

struct unit {
    const char *name;
    int64_t factor;
};

/* A whole number and one of the units; false on anything else and past 2^53. */
static bool parse_with_unit(const char *text, const struct unit *units, size_t n, int64_t *ret)
{
    if (!isdigit((unsigned char)text[0]))
        return false;
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno != 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (strcasecmp(end, units[i].name) != 0)
            continue;
        if (number > (INT64_C(1) << 53) / units[i].factor)
            return false;
        *ret = number * units[i].factor;
        return true;
    }
    return false;
}

int cli_parse_duration(const char *text, int64_t *ret_ms, struct err *e)
{
    static const struct unit units[] = {
        {"", 1000}, {"s", 1000}, {"ms", 1}, {"m", 60000}, {"h", 3600000},
    };
    if (parse_with_unit(text, units, ARRAY_LEN(units), ret_ms))
        return 0;
    err_set(e, ERR_INVALID, "'%.32s' is not a duration", text);
    return err_advise(e, "write a whole number of seconds, or one with a unit: 500ms, 30s, 2m, 1h");
}

int cli_parse_size(const char *text, int64_t *ret_bytes, struct err *e)
{
    static const struct unit units[] = {
        {"", 1}, {"b", 1}, {"k", 1 << 10}, {"kib", 1 << 10}, {"m", 1 << 20}, {"mib", 1 << 20},
    };
    if (parse_with_unit(text, units, ARRAY_LEN(units), ret_bytes))
        return 0;
    err_set(e, ERR_INVALID, "'%.32s' is not a size", text);
    return err_advise(e, "write a whole number of bytes, or one with a unit: 64k, 1m");
}
