/* Resumable streams of events. Daemon, on the loop; owns the events that are kept. */
#include "mcp/stream.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

struct stream_event {
    struct list in_stream;
    uint64_t number;
    size_t len;
    char json[];
};

enum { STREAM_ID_SIZE = 48 };

struct mcp_stream *stream_new(uint64_t number, bool primes)
{
    struct mcp_stream *s = mem_alloc(sizeof(*s));
    s->number = number;
    s->primes = primes;
    list_init(&s->in_peer);
    list_init(&s->events);
    return s;
}

static void stream_drop_first(struct mcp_stream *s)
{
    struct stream_event *e = CONTAINER_OF(list_first(&s->events), struct stream_event, in_stream);
    list_remove(&e->in_stream);
    s->n_events--;
    s->bytes -= e->len;
    free(e);
}

void stream_pause(struct mcp_stream *s)
{
    struct mcp_link *link = s->link;
    if (link == NULL)
        return;
    stream_detach(s);
    link->request = NULL;
    link->ops->end(link);
}

void stream_free(struct mcp_stream *s)
{
    if (s == NULL)
        return;
    stream_pause(s);
    list_remove(&s->in_peer);
    while (s->n_events > 0)
        stream_drop_first(s);
    free(s);
}

void stream_attach(struct mcp_stream *s, struct mcp_link *link)
{
    s->link = link;
    link->stream = s;
}

void stream_detach(struct mcp_stream *s)
{
    if (s->link != NULL)
        s->link->stream = NULL;
    s->link = NULL;
}

static void stream_show(struct mcp_stream *s, uint64_t number, const char *json, size_t len)
{
    char id[STREAM_ID_SIZE];
    snprintf(id, sizeof(id), "%llu-%llu", (unsigned long long)s->number,
             (unsigned long long)number);
    s->link->ops->event(s->link, id, json, len);
}

void stream_begin(struct mcp_stream *s)
{
    if (s->has_begun)
        return;
    s->has_begun = true;
    uint64_t number = s->next++;
    if (s->primes && s->link != NULL)
        stream_show(s, number, "", 0);
}

void stream_put(struct mcp_stream *s, const char *json, size_t len)
{
    stream_begin(s);
    uint64_t number = s->next++;
    struct stream_event *e = mem_alloc(sizeof(*e) + len + 1);
    e->number = number;
    e->len = len;
    if (len > 0)
        memcpy(e->json, json, len);
    list_append(&s->events, &e->in_stream);
    s->n_events++;
    s->bytes += len;
    /* The oldest events go first: whoever comes back so late has lost them. */
    while (s->n_events > 1 && (s->n_events > MCP_EVENTS_MAX || s->bytes > MCP_STREAM_BYTES))
        stream_drop_first(s);
    if (s->link != NULL)
        stream_show(s, number, json, len);
}

static void stream_answer_plainly(struct mcp_stream *s, int status, const char *json, size_t len)
{
    struct mcp_link *link = s->link;
    stream_detach(s);
    stream_free(s);
    link->request = NULL;
    link->ops->answer(link, status, json, len);
}

void stream_answer(struct mcp_stream *s, int status, const char *json, size_t len)
{
    if (s->has_begun || s->link == NULL) {
        s->over_ms = clock_mono_ms();
        stream_put(s, json, len);
        stream_pause(s);
    } else {
        stream_answer_plainly(s, status, json, len);
    }
}

void stream_drop(struct mcp_stream *s)
{
    if (s->has_begun || s->link == NULL) {
        s->over_ms = clock_mono_ms();
        stream_pause(s);
    } else {
        stream_answer_plainly(s, 202, NULL, 0);
    }
}

bool stream_parse_id(const char *id, uint64_t *ret_stream, uint64_t *ret_event)
{
    char *end;
    if (id[0] < '0' || id[0] > '9')
        return false;
    *ret_stream = strtoull(id, &end, 10);
    if (*end != '-' || end[1] < '0' || end[1] > '9')
        return false;
    *ret_event = strtoull(end + 1, &end, 10);
    return *end == '\0';
}

void stream_resume(struct mcp_stream *s, struct mcp_link *link, uint64_t after)
{
    stream_pause(s); /* an older connection, if the client has given it up */
    stream_attach(s, link);
    s->has_begun = true;
    LIST_EACH(&s->events, node) {
        const struct stream_event *e = CONTAINER_OF(node, struct stream_event, in_stream);
        if (e->number > after)
            stream_show(s, e->number, e->json, e->len);
    }
    if (s->over_ms != 0)
        stream_pause(s);
    else if (s->primes)
        stream_show(s, s->next++, "", 0);
}
