/* The analyst: an interpreter of our own, in a jail of its own, that parses code and never runs it.
 * It is in no session's jail, because what runs there could end it, or change what it says. Code
 * that breaks a parser, fills memory or takes too long costs the question about it and nothing
 * else: the next one has another interpreter. The first question starts it; it ends when nobody
 * asks for a while, and is renewed after many questions. */
#pragma once

#include "base/err.h"

#include <jansson.h>

struct analysis;
struct analyst;
struct engine;

enum {
    ANALYST_CODE_MAX = 256 * 1024, /* bytes of a text that it parses */
    ANALYST_WAITING_MAX = 64,      /* questions, of all sessions */
};

/* One of both, later, from the loop. */
struct analysis_listener {
    void (*on_done)(void *context, json_t *told); /* borrowed; not checked by anybody yet */
    void (*on_failed)(void *context, const struct err *e);
};

/* Asks a function of drivers/python/tools/analysis.py. `function` is borrowed, `args` is taken.
 * NULL with the error. */
struct analysis *analyst_ask(struct engine *engine, const char *function, json_t *args,
                             const struct analysis_listener *listener, void *context,
                             struct err *e);
/* Nobody waits for the answer any more. */
void analysis_forget(struct analysis *analysis);

/* ---- for the rest of the room ---------------------------------------------------------------- */

struct analyst *analyst_new(struct engine *engine);
void analyst_free(struct analyst *analyst); /* whoever waits is told. Takes NULL */
