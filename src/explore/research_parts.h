/* What the files of the research tree share. */
#pragma once

#include "base/map.h"
#include "explore/embed.h"
#include "explore/research.h"

const char *research_status_name(enum research_status status);
bool research_status_find(const char *name, enum research_status *ret_status);

/* A member of a node that is known to be a string. */
const char *research_text(const json_t *node, const char *member);

/* A prefix of one or two capital letters, and a number from 1 on. */
bool research_is_id(const char *s, size_t len);
size_t research_prefix_length(const char *s, size_t len); /* capital letters at the beginning */

/* Places of nodes by their ids; the caller frees it. */
void research_index(const json_t *nodes, struct map *ret_places);
bool research_find(const struct map *places, const char *id, size_t *ret_place);

/* The vector of a call, as it is kept. */
json_t *research_embedding(const char *query, const char *content, size_t len);

/* Puts "refs", and "more_refs" if there are more than are kept, into a new node: what its content
 * names, and what its embedding resembles. */
void research_refer(json_t *node, const json_t *tree, const char *content, size_t len,
                    const json_t *embedding, float least);
