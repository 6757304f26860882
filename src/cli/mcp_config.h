/* The entries that make programs with language models use `cella mcp`: what they have to be told,
 * and where. docs/CONNECT.md has the same, and a test holds it against this. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct mcp_config_client {
    const char *name;  /* NULL ends the list */
    const char *title; /* "Claude Code" */
    const char *where; /* what to do with the entry */
    /* The entry. "%P" stands for the program in quotes, "%A" for its arguments in quotes with
     * commas between, "%S" for the whole command as a shell takes it. */
    const char *entry;
};

extern const struct mcp_config_client mcp_config_clients[];

/* Appends the entry of one of them for this program and the arguments behind `mcp`, which end with
 * NULL. */
void mcp_config_append(const struct mcp_config_client *client, const char *program,
                       const char *const *arguments, struct buf *out);

/* `cella mcp --print-config CLIENT`: the entry to stdout, with the path of this program; what to do
 * with it to stderr. The exit status, or -1 with the error that lists the clients. */
int mcp_config_print(const char *client, const char *const *arguments, struct err *e);
