/* From a method and a path to an operation of the table. Daemon; on the loop. */
#include "serve/route.h"

#include <assert.h>

static void compile(struct route *r, const struct op *op)
{
    assert(op->path[0] == '/');
    r->op = op;
    r->text = mem_strdup(op->path + 1);
    for (char *at = r->text; at != NULL;) {
        char *slash = strchr(at, '/');
        if (slash != NULL)
            *slash++ = '\0';
        assert(r->n_segments < ROUTE_SEGMENTS_MAX);
        size_t len = strlen(at);
        bool is_param = len > 2 && at[0] == '{' && at[len - 1] == '}';
        if (is_param)
            at[len - 1] = '\0';
        r->segments[r->n_segments].text = at + is_param;
        r->segments[r->n_segments++].is_param = is_param;
        at = slash;
    }
}

void route_table_init(struct route_table *t, const struct op *const *ops)
{
    size_t n = 0;
    while (ops[n] != NULL)
        n++;
    t->routes = mem_alloc((n + 1) * sizeof(*t->routes));
    t->n_routes = n;
    for (size_t i = 0; i < n; i++)
        compile(&t->routes[i], ops[i]);
}

void route_table_free(struct route_table *t)
{
    for (size_t i = 0; i < t->n_routes; i++)
        free(t->routes[i].text);
    free(t->routes);
    *t = (struct route_table){0};
}

static bool matches(const struct route *r, const struct target *target)
{
    bool has_tail = r->op->flags & OP_HAS_TAIL && target->n_segments > r->n_segments;
    if (r->n_segments != target->n_segments && !has_tail)
        return false;
    for (size_t i = 0; i < r->n_segments - has_tail; i++) {
        const char *given = target->segments[i];
        if (r->segments[i].is_param ? given[0] == '\0' : strcmp(r->segments[i].text, given) != 0)
            return false;
    }
    return true;
}

/* The segments as they were sent: what needs decoding is no word of ours. */
static size_t route_tunnel_len(const struct route *r, const char *raw)
{
    const char *at = raw;
    for (size_t i = 0; i < r->n_segments; i++) {
        size_t len = *at == '/' ? strcspn(at + 1, "/?") : 0;
        const char *word = r->segments[i].text;
        if (len == 0 ||
            (!r->segments[i].is_param && (strlen(word) != len || memcmp(at + 1, word, len) != 0)))
            return 0;
        at += 1 + len;
    }
    return (size_t)(at - raw);
}

size_t route_known_len(const struct route_table *t, const char *raw)
{
    for (size_t i = 0; i < t->n_routes; i++) {
        const struct route *r = &t->routes[i];
        size_t len = r->op->flags & OP_TUNNELS ? route_tunnel_len(r, raw) : 0;
        if (len > 0)
            return len;
    }
    return strlen(raw);
}

static void route_allow(char list[ROUTE_ALLOW_SIZE], const char *method)
{
    size_t used = strlen(list);
    snprintf(list + used, ROUTE_ALLOW_SIZE - used, "%s%s", used > 0 ? ", " : "", method);
    if (strcmp(method, "GET") == 0)
        route_allow(list, "HEAD");
}

const struct route *route_find(const struct route_table *t, const char *method,
                               const struct target *target, char ret_allow[ROUTE_ALLOW_SIZE])
{
    if (strcmp(method, "HEAD") == 0)
        method = "GET";
    ret_allow[0] = '\0';
    for (size_t i = 0; i < t->n_routes; i++) {
        const struct route *r = &t->routes[i];
        if (!matches(r, target))
            continue;
        if (r->op->flags & OP_TUNNELS || strcmp(r->op->method, method) == 0)
            return r;
        route_allow(ret_allow, r->op->method);
    }
    return NULL;
}
