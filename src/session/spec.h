/* What is needed to make a session again, as the store keeps it: JSON, written and read by us. */
#pragma once

#include "session/session.h"

extern const char *const spec_isolations[]; /* names by enum saving_isolation; NULL at the end */
extern const char *const spec_images[];     /* how answers have pictures; NULL at the end */
/* The index of a name in a list with NULL at the end; 0 for NULL and unknown names. */
unsigned spec_index_of(const char *const names[], const char *name);

char *spec_write(const struct session *session); /* the caller frees it */

/* The same for a session that is not made yet, without cwd and env. */
int spec_write_request(const struct engine_config *config, const struct session_request *request,
                       char **ret_text, struct err *e);

/* Plan mode outlives the daemon, too. */
void spec_read_plan(const json_t *spec, struct plan *plan);
/* When it last ran a cell, by the wall clock, as far as the spec knows. */
uint64_t spec_last_cell_at_ms(const json_t *spec, uint64_t fallback_ms);

/* Fills in what the text says; its strings live in `*ret_json`, which the caller drops. */
int spec_read(const char *text, struct session_request *ret_request, struct jail_limits *ret_limits,
              uint32_t ret_seconds[2], json_t **ret_json, struct err *e);
