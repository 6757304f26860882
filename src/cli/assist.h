/* What a conversation offers beside running code: how a line could go on, what a name is, and the
 * other verbs as commands that begin with a colon. */
#pragma once

#include "cli/api.h"
#include "cli/args.h"

/* How `code` could go on at its end: {"start","end","matches"}, numbers of characters. NULL if
 * nobody can tell now. The caller's. */
json_t *cli_assist_complete(struct cli_client *c, const char *session_id, const char *code,
                            size_t len);

/* Whether the line asks what a name is: "name?", "?name", with "??" for its source. */
bool cli_assist_is_question(const char *line);
/* Shows the answer to such a line. */
void cli_assist_answer(struct cli_client *c, const char *session_id, const char *line,
                       bool is_coloured);

/* Whether the line is a command, ":undo"; what begins with a colon in bash has a blank behind it.
 */
bool cli_assist_is_command(const char *line);
/* Runs it, for this session, and shows what came of it. `args` say where the daemon is. */
void cli_assist_run(struct cli_client *c, const struct cli_args *args, const char *session_id,
                    const char *line);
