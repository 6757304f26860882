/* `cella doctor`: say which walls this machine can build around a session. Command line tool. */
#include "jail/client/doctor.h"

#include "base/fd.h"
#include "cli/args.h"
#include "cli/terminal.h"
#include "wire/json.h"

static void doctor_write_json(const struct doctor_check *checks, size_t n, bool can_run,
                              struct buf *text)
{
    struct json_out out = JSON_OUT(text);
    json_put_object(&out);
    json_put_member_bool(&out, "can_run_code", can_run);
    json_put_key(&out, "checks");
    json_put_array(&out);
    for (size_t i = 0; i < n; i++) {
        json_put_object(&out);
        json_put_member_str(&out, "name", checks[i].name);
        json_put_member_bool(&out, "ok", checks[i].is_ok);
        json_put_member_bool(&out, "required", checks[i].is_required);
        json_put_member_str(&out, "detail", checks[i].detail);
        json_put_member_str(&out, "why", checks[i].why);
        json_put_member_str(&out, "fix", checks[i].fix);
        json_put_object_end(&out);
    }
    json_put_array_end(&out);
    json_put_object_end(&out);
    buf_append_char(text, '\n');
}

static int doctor_verb_run(const struct cli_args *args, struct err *e)
{
    if (args->n_words > 0)
        return err_set(e, ERR_INVALID, "doctor takes no arguments");
    struct doctor_check checks[DOCTOR_CHECKS_MAX];
    size_t n = doctor_run(checks, ARRAY_LEN(checks));
    bool can_run = true;
    for (size_t i = 0; i < n; i++)
        can_run = can_run && (checks[i].is_ok || !checks[i].is_required);
    _buf_ struct buf text = BUF_INIT(1 * MIB);
    if (cli_has(args, "json"))
        doctor_write_json(checks, n, can_run, &text);
    else {
        bool is_coloured = cli_is_coloured(STDOUT_FILENO);
        size_t n_missing = 0;
        for (size_t i = 0; i < n; i++) {
            const char *colour = checks[i].is_ok         ? "\033[32m"
                                 : checks[i].is_required ? "\033[31m"
                                                         : "\033[33m";
            buf_printf(&text, "%s%s%s  %-22s ", is_coloured ? colour : "",
                       checks[i].is_ok ? "yes" : "no ", is_coloured ? "\033[0m" : "",
                       checks[i].name);
            cli_append_safe(&text, checks[i].detail, strlen(checks[i].detail), false);
            buf_printf(&text, "\n     why: %s\n", checks[i].why);
            if (!checks[i].is_ok && checks[i].is_required)
                buf_append_str(&text, "     required: no code is run without it\n");
            if (!checks[i].is_ok && checks[i].fix[0] != '\0')
                buf_printf(&text, "     fix: %s\n", checks[i].fix);
            n_missing += !checks[i].is_ok;
        }
        if (!can_run)
            buf_append_str(&text,
                           "\nThis machine cannot make a safe sandbox: Cella refuses to run code "
                           "here until what is required is there.\n");
        else if (n_missing > 0)
            buf_printf(&text, "\nSessions can run here; %zu protection%s could be added.\n",
                       n_missing, n_missing == 1 ? "" : "s");
        else
            buf_append_str(&text, "\nSessions can run here with every protection.\n");
    }
    fd_write_all(STDOUT_FILENO, buf_str(&text), text.len);
    return can_run ? 0 : err_exit_status(ERR_UNAVAILABLE);
}

const struct cli_verb cli_doctor_verb = {
    .name = "doctor",
    .subject = OP_ON_DAEMON,
    .summary = "say which walls this machine can build around a session",
    .usage = "[OPTION...]",
    .about =
        "Tries every mechanism of the sandbox once and prints yes or no, what was found, why it\n"
        "matters and how to get it. Exit status 69 if no code could be run here.",
    .examples = "cella doctor\n"
                "cella doctor --json | jq '.checks[] | select(.ok | not)'",
    .run = doctor_verb_run,
};
