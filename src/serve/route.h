/* From a method and a path to an operation. */
#pragma once

#include "ops/op.h"
#include "wire/target.h"

enum { ROUTE_SEGMENTS_MAX = 12, ROUTE_ALLOW_SIZE = 64 };

struct route {
    const struct op *op;
    char *text; /* the operation's path, cut into segments */
    struct {
        const char *text; /* the word, or the parameter's name */
        bool is_param;
    } segments[ROUTE_SEGMENTS_MAX];
    size_t n_segments;
};

struct route_table {
    struct route *routes;
    size_t n_routes;
};

void route_table_init(struct route_table *t, const struct op *const *ops);
void route_table_free(struct route_table *t);

/* The route, or NULL; then `ret_allow` lists the methods that this path has, empty if there is no
 * such path. HEAD finds what GET finds. */
/* How much of a request's target is for the daemon to read: all of it, unless an operation that
 * tunnels has the beginning of it. */
size_t route_known_len(const struct route_table *t, const char *raw);
const struct route *route_find(const struct route_table *t, const char *method,
                               const struct target *target, char ret_allow[ROUTE_ALLOW_SIZE]);
