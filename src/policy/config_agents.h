/* The part of the configuration that says who may use interpreters: `agents` and
 * `inbound_bindings`. */
#pragma once

#include "policy/reader.h"

/* Most that a session may ask for: `max_limits`, of everybody or of one agent. */
int config_read_ceiling(struct reader *r, const struct reader_field *f, void *object);
/* `web_domains`, of the default agent or of another: a struct config_domains. */
int config_read_domains(struct reader *r, const struct reader_field *f, void *object);
int config_read_agents(struct reader *r, const struct reader_field *f, void *object);
int config_read_bindings(struct reader *r, const struct reader_field *f, void *object);
/* When the whole file was read: agents that bindings and issuers name exist, and so does the
 * default one. */
int config_finish_agents(struct reader *r);
