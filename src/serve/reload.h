/* The configuration, read again while sessions run (SIGHUP). */
#pragma once

#include "notebook/documents.h"
#include "policy/policy.h"
#include "session/engine.h"

/* What an engine takes from a configuration; without profiles, which only a start can choose. */
struct engine_config reload_engine_config(const struct config *config);

/* Reads the file again. What it says of agents, limits and numbers holds for what comes; sessions
 * that exist stay as they are. Programs and profiles belong to processes that run already: what
 * differs there from `started` is logged and waits for the next start. A file with a mistake, or
 * one that is gone, changes nothing. */
void reload(const char *path, const struct config *started, struct policy *policy,
            struct engine *engine, struct documents *documents);
