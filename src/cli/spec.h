/* The session that a verb shall make, from its flags. */
#pragma once

#include "cli/api.h"
#include "cli/args.h"
#include "cli/language.h"

/* In the table of flags of every verb that makes sessions. */
#define CLI_FLAGS_SPEC                                                                             \
    {"runtime", 'r', "NAME", "the new session's language: python (the default), node or bash"},    \
        {"profile", 'p', "NAME", "its libraries, for Python: 'min' or 'data' (the default)"},      \
        CLI_FLAGS_SPEC_REST

/* For verbs to which -r and -p mean something else. */
#define CLI_FLAGS_SPEC_REST                                                                        \
    {"cwd", 'C', "DIR", "where it starts, below /workspace; made if it is not there"},             \
        {"env", 'e', "NAME=VALUE", "a variable of its environment; NAME alone: as it is here"},    \
        {"join", 'j', "ID", "share the sandbox and the files of this session"},                    \
        {"name", 0, "NAME", "what it can be called instead of its id"},                            \
        {"label", 0, "KEY=VALUE", "a text to find it by with cella ps; more than once: more"},     \
        {"agent", 0, "NAME", "make it on behalf of this agent of the configuration"},              \
        {"binding", 0, "NAME", "and of this inbound binding of it"},                               \
        {"user", 0, "NAME", "and for this user of it: explorations are remembered for each"},      \
        {"debug", 0, NULL, "its processes may trace each other: gdb, strace, py-spy"},             \
    {                                                                                              \
        "idle-timeout", 0, "DURATION", "end it after this time without use (10m; 0: never)"        \
    }

/* `language` is what the code's file says, or NULL; --runtime comes before it. */
int cli_spec_read(const struct cli_args *args, const struct cli_language *language,
                  struct cli_session_spec *ret, struct err *e);
void cli_spec_free(struct cli_session_spec *spec);

/* The first flag given that only makes sense for a new session; NULL if there is none. */
const char *cli_spec_given(const struct cli_args *args);
