/* Operations of the daemon as verbs: flags, help and request come from the table of operations. */
#pragma once

#include "cli/api.h"
#include "cli/verb.h"
#include "ops/op.h"

/* The verb of an operation that has one, made when it is first asked for. */
const struct cli_verb *cli_op_verb(const struct op *op);

/* Asks for an operation, by its name and with arguments as the table has them; `ret_answer` is an
 * object. Paths and methods are in the table only. */
int cli_op_ask(struct cli_client *c, const char *name, const json_t *args, json_t **ret_answer,
               struct err *e);
/* The request for it, in buffers of the caller's. */
int cli_op_request(const struct op *op, const json_t *args, struct buf *path, struct buf *body,
                   struct cli_request *ret, struct err *e);

/* Shows an answer to a person, as the operation's own view or its declared shape has it. */
int cli_show_sessions(const json_t *answer); /* ps.c */
int cli_op_show(struct cli_client *c, const struct op *op, const json_t *args,
                const json_t *answer);
