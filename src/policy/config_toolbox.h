/* The part of the configuration that adds tools to the toolbox, and says who may call which:
 * `toolbox`, of the daemon and of agents. */
#pragma once

#include "policy/reader.h"

int config_read_toolbox(struct reader *r, const struct reader_field *f, void *object);
/* A field of struct config_toolbox_rules: a mapping with allow and deny. */
int config_read_toolbox_rules(struct reader *r, const struct reader_field *f, void *object);

/* Whether the rules let code call the tool. */
bool config_toolbox_allows(const struct config_toolbox_rules *rules,
                           const struct tool_entry *entry);

/* Fields: a text of at most `max` bytes; a list of texts that ends with NULL. */
int config_toolbox_text(struct reader *r, const struct reader_field *f, void *object);
int config_toolbox_texts(struct reader *r, const struct reader_field *f, void *object);
/* `name`: whose they are. NULL is no headers. */
int config_toolbox_check_headers(struct reader *r, const char *name, const char *const *headers,
                                 int line);
