/* What the operations share that make a session: the members of the request, and what they say. */
#pragma once

#include "ops/exec_call.h"
#include "policy/config.h"
#include "session/setup.h"
#include "session/spec.h"

enum { SESSION_SECONDS_MAX = 365 * 86400 };

extern const struct op_param session_limits[];

#define SESSION_PARAMS                                                                             \
    {.name = "runtime",                                                                            \
     .type = OP_CHOICE,                                                                            \
     .letter = 'r',                                                                                \
     .choices = runtime_names,                                                                     \
     .means = OP_MEANS_RUNTIME,                                                                    \
     .doc = "The interpreter."},                                                                   \
        {.name = "profile",                                                                        \
         .type = OP_TEXT,                                                                          \
         .letter = 'p',                                                                            \
         .min = 1,                                                                                 \
         .max = 64,                                                                                \
         .doc = "What is already imported, by the name of a profile of the configuration."},       \
        {.name = "limits",                                                                         \
         .type = OP_OBJECT,                                                                        \
         .members = session_limits,                                                                \
         .means = OP_MEANS_LIMITS,                                                                 \
         .doc = "Limits of this session; what is not given is as the configuration says. At most " \
                "its max_limits."},                                                                \
        {.name = "cwd",                                                                            \
         .type = OP_TEXT,                                                                          \
         .letter = 'C',                                                                            \
         .is_nullable = true,                                                                      \
         .min = 1,                                                                                 \
         .max = SESSION_CWD_SIZE - 1,                                                              \
         .doc = "Where it works: a directory inside /workspace (also relative to it) or /tmp, "    \
                "made if it does not exist."},                                                     \
        {.name = "env",                                                                            \
         .type = OP_TEXTS,                                                                         \
         .letter = 'e',                                                                            \
         .is_nullable = true,                                                                      \
         .max = SETUP_ENV_MAX,                                                                     \
         .doc = "Environment variables besides the usual ones, by name; up to 64 KiB in all."},    \
        {.name = "join",                                                                           \
         .type = OP_TEXT,                                                                          \
         .letter = 'j',                                                                            \
         .is_nullable = true,                                                                      \
         .min = 1,                                                                                 \
         .max = 64,                                                                                \
         .means = OP_MEANS_JOINED,                                                                 \
         .doc = "A session whose sandbox it shares: files, processes and limits."},                \
        {.name = "agent",                                                                          \
         .type = OP_TEXT,                                                                          \
         .is_nullable = true,                                                                      \
         .min = 1,                                                                                 \
         .max = CONFIG_AGENT_BYTES,                                                                \
         .means = OP_MEANS_SPEAKER,                                                                \
         .doc = "On whose behalf, by a name of the configuration; without it the agent "           \
                "\"default\"."},                                                                   \
        {.name = "binding",                                                                        \
         .type = OP_TEXT,                                                                          \
         .is_nullable = true,                                                                      \
         .min = 1,                                                                                 \
         .max = CONFIG_AGENT_BYTES,                                                                \
         .means = OP_MEANS_BINDING,                                                                \
         .doc = "The inbound binding through which the agent was asked."},                         \
        {.name = "user",                                                                           \
         .type = OP_TEXT,                                                                          \
         .is_nullable = true,                                                                      \
         .min = 1,                                                                                 \
         .max = SESSION_PERSON_MAX,                                                                \
         .doc = "The agent's user for whom it is, by any name: explorations are remembered for "   \
                "each apart."},                                                                    \
        {.name = "idle_timeout_secs",                                                              \
         .type = OP_INT,                                                                           \
         .unit = OP_SECS,                                                                          \
         .is_nullable = true,                                                                      \
         .max = SESSION_SECONDS_MAX,                                                               \
         .doc = "It is suspended when nobody used it for this long; 0 is never. Default as "       \
                "configured."},                                                                    \
        {.name = "max_age_secs",                                                                   \
         .type = OP_INT,                                                                           \
         .unit = OP_SECS,                                                                          \
         .is_nullable = true,                                                                      \
         .max = SESSION_SECONDS_MAX,                                                               \
         .doc = "It ends at this age; 0 is never. Default as configured."},                        \
        {.name = "checkpoints",                                                                    \
         .type = OP_CHOICE,                                                                        \
         .choices = timeline_modes,                                                                \
         .doc = "When its state is kept to come back to: after a moment of rest (auto, the "       \
                "default unless the agent's checkpoints says otherwise), after every cell, or "    \
                "never."},                                                                         \
        {.name = "timeout_ms",                                                                     \
         .type = OP_INT,                                                                           \
         .letter = 't',                                                                            \
         .unit = OP_MS,                                                                            \
         .is_nullable = true,                                                                      \
         .min = 1,                                                                                 \
         .max = EXEC_TIMEOUT_MAX_MS,                                                               \
         .means = OP_MEANS_TIMEOUT,                                                                \
         .doc = "How long its cells may run that name no time of their own; default: the agent's " \
                "timeout_secs."},                                                                  \
        {.name = "budget",                                                                         \
         .type = OP_INT,                                                                           \
         .letter = 'b',                                                                            \
         .unit = OP_SIZED,                                                                         \
         .is_nullable = true,                                                                      \
         .min = 1,                                                                                 \
         .max = CONFIG_BUDGET_MAX,                                                                 \
         .means = OP_MEANS_BUDGET,                                                                 \
         .doc = "Bytes of output in answers to cells that name no budget of their own; default: "  \
                "the agent's budget, else 8 KiB."},                                                \
        {.name = "images",                                                                         \
         .type = OP_CHOICE,                                                                        \
         .choices = spec_images,                                                                   \
         .doc = "How answers have pictures where a cell does not say: reference (unless the "      \
                "agent's images says otherwise) or inline."},                                      \
        {.name = "durable",                                                                        \
         .type = OP_CHOICE,                                                                        \
         .choices = saving_modes,                                                                  \
         .doc = "Whether its state is kept on disk, to outlive the daemon: auto (the default) or " \
                "off."},                                                                           \
        {.name = "explore",                                                                        \
         .type = OP_BOOL,                                                                          \
         .is_nullable = true,                                                                      \
         .doc = "Its code has peek, grep and the other functions that explore contexts from the "  \
                "start, not only once there is a context. Of Python."},                            \
        {.name = "structured",                                                                     \
         .type = OP_BOOL,                                                                          \
         .doc = "Its cells are structured unless they say otherwise, see session.exec. With "      \
                "explore."},                                                                       \
        {.name = "debug",                                                                          \
         .type = OP_BOOL,                                                                          \
         .is_nullable = true,                                                                      \
         .doc = "Whether its processes may trace each other, for gdb, strace, py-spy and leak "    \
                "checks; off unless the agent's setting is always, refused if that is never."},    \
    {                                                                                              \
        .name = "isolation", .type = OP_CHOICE, .choices = spec_isolations,                        \
        .doc =                                                                                     \
            "shared (the default): its cells run in one process; per_cell: each has a fresh one, " \
            "with the state that could be saved after the one before."                             \
    }

/* All but who is told of the start. What it points to lives in the call's arena, or in its
 * arguments. */
int create_call_read(struct call *call, struct session_request *ret_request, struct err *e);
/* Why a session did not start. It is deleted: its id was never told to anybody. */
void create_call_explain(struct session *session, struct err *ret);
