/* The daemon's advice in the command line's words, by a table of phrases. Command line tool. */
#include "cli/advice.h"

#include "cli/terminal.h"

/* What the daemon says, and what is said instead. The first that fits is taken, so longer ones
 * stand before those that they contain. tests/e2e/test_cli_advice.py walks the sources for words
 * that are missing here. */
static const struct {
    const char *daemon, *here;
} phrases[] = {
    {"GET /v1/sessions lists those that exist; POST /v1/sessions creates one",
     "`cella ps` lists those that exist; `cella exec --new` makes one"},
    {"GET /v1/notebooks lists", "`cella notebook list` lists"},
    {"GET /v1/agents lists", "`cella agents` lists"},
    {"GET /health/detailed says", "`cella doctor` says"},
    {"Name a file in it; as an archive: GET …/archive?path=…", "name a file in it"},
    {"With recursive=true it is deleted", "with --recursive it is deleted"},
    {"Delete it first, or say \"replace\"", "delete it first"},
    {"GET …/checkpoints lists", "`cella tree SESSION` shows"},
    {"GET …/checkpoints", "`cella tree SESSION`"},
    {"GET …/sessions/", "cella info "},
    {"GET …/names tells", "`cella names SESSION` tells"},
    {"GET …/output?number=", "cella output SESSION --number "},
    {"POST …/resume brings", "`cella resume SESSION` brings"},
    {" (\"durable\" is off)", ""},
    {"POST …/tries/", "cella try SESSION --id "},
    {"/commit or take", " --commit, or take"},
    {"…/discard", "--discard"},
    {"POST …/try runs", "`cella try` runs"},
    {"at …/output?number=", "in `cella notebook show SESSION`, there cell "},
    {"DELETE /v1/agents/", "cella agent unplan "},
    {"DELETE /v1/sessions/", "cella unplan "},
    {"/plan leaves", " leaves"},
    {" (\"denied\" says which)", ""},
    {" with \"checkpoints\": \"auto\"", ""},
    {"branch \"at\"", "branch from with --at"},
    {"Leave out \"run\", or \"kind\"", "Leave out --run, or --kind"},
    {"Give \"code\", \"kind\" or \"metadata\"", "Give code, or --kind"},
    {"with a \"runtime\"", "with --runtime"},
    {"\"timeout_ms\"", "--timeout (in ms)"},
    {"\"yield_ms\"", "--yield (in ms)"},
    {"\"idle_timeout_secs\"", "--idle-timeout (in seconds)"},
    {"\"agent\"", "--agent"},
    {"\"at\"", "--at"},
    {"\"binding\"", "--binding"},
    {"\"budget\"", "--budget"},
    {"\"count\"", "--count"},
    {"\"cwd\"", "--cwd"},
    {"\"env\"", "--env"},
    {"\"join\"", "--join"},
    {"\"kind\"", "--kind"},
    {"\"profile\"", "--profile"},
    {"\"runtime\"", "--runtime"},
    {"\"to\"", "--to"},
    {"idle_timeout_secs (0: none)", "--idle-timeout (0: never)"},
    {"idle_timeout_secs", "--idle-timeout"},
    {"max_age_secs (0: none)", "max_age_secs in cella.yaml (0: none)"},
    {"timeout_ms", "--timeout"},
    {"yield_ms", "--yield"},
    {"limits.memory_mb", "limits.memory_mb in cella.yaml"},
    {"limits.disk_mb", "limits.disk_mb in cella.yaml"},
    {"limits.cpu_seconds", "limits.cpu_seconds in cella.yaml"},
    {"limits.pids", "limits.pids in cella.yaml"},
};

/* The phrase that `text` begins with; NULL if none. */
static const char *find_phrase(const char *text, size_t len, size_t *ret_len)
{
    for (size_t i = 0; i < ARRAY_LEN(phrases); i++) {
        *ret_len = strlen(phrases[i].daemon);
        if (*ret_len <= len && memcmp(text, phrases[i].daemon, *ret_len) == 0)
            return phrases[i].here;
    }
    return NULL;
}

void cli_append_advice(struct buf *out, const char *text, size_t len)
{
    size_t from = 0, phrase_len = 0;
    for (size_t i = 0; i < len; i++) {
        const char *here = find_phrase(text + i, len - i, &phrase_len);
        if (here == NULL)
            continue;
        cli_append_safe(out, text + from, i - from, true);
        buf_append_str(out, here);
        from = i + phrase_len;
        i = from - 1;
    }
    cli_append_safe(out, text + from, len - from, true);
}
