/* The HTTP server: accepts, counts and ends connections. Daemon; owns listeners and connections. */
#include "serve/server.h"

#include "serve/conn.h"

#include <arpa/inet.h>
#include <assert.h>
#include <sys/socket.h>

enum { TURNED_AWAY_MAX = 64 }; /* connections over the limit that still get to hear why */

struct server_listener {
    struct server *server;
    struct loop_listener *loop;
    bool is_unix;
    bool is_loopback;
};

static void server_check_stopped(struct server *s);

struct server *server_new(const struct server_config *config)
{
    struct server *s = mem_alloc(sizeof(*s));
    s->config = *config;
    route_table_init(&s->routes, config->ops);
    list_init(&s->connections);
    list_init(&s->idle);
    list_init(&s->unproven);
    list_init(&s->deferred);
    s->deferred_timer = loop_timer_new(config->loop, conn_resume_deferred, s);
    s->on_conn_gone = server_check_stopped;
    s->head = BUF_INIT(8 * KIB);
    s->event = BUF_INIT(256 * MIB);
    return s;
}

void server_free(struct server *s)
{
    if (s == NULL)
        return;
    assert(s->n_connections == 0);
    route_table_free(&s->routes);
    buf_free(&s->head);
    buf_free(&s->event);
    free(s);
}

/* ---- taking connections ---------------------------------------------------------------------- */

static int check_peer(const struct server *s, const struct conn *c, struct err *e)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    if (getsockopt(loop_stream_fd(c->stream), SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
        (peer.uid == 0 || peer.uid == s->config.owner))
        return 0;
    err_set(e, ERR_FORBIDDEN, "this socket is for the user who started the daemon");
    return err_advise(e, "Use the TCP address and an API key, or start a daemon of your own.");
}

/* Makes room by closing the oldest connection of somebody who has not shown a key yet, so that
 * strangers only ever push out each other, else the one that has been idle for longest. */
static int server_check_room(struct server *s, struct err *e)
{
    if (s->n_connections <= s->config.max_connections)
        return 0;
    struct list *stranger = list_first(&s->unproven);
    struct list *longest = list_first(&s->idle);
    if (stranger != NULL) {
        conn_close(CONTAINER_OF(stranger, struct conn, in_unproven));
        return 0;
    }
    if (longest != NULL) {
        conn_close(CONTAINER_OF(longest, struct conn, in_idle));
        return 0;
    }
    err_set(e, ERR_UNAVAILABLE, "all %zu connections are in use", s->config.max_connections);
    return err_advise(e, "Close connections that are not needed and try again.");
}

static void on_connection(void *context)
{
    struct server_listener *l = context;
    struct server *s = l->server;
    struct conn *c = conn_accept(s, l->loop);
    if (c == NULL)
        return;
    struct err e;
    bool has_room = server_check_room(s, &e) == 0;
    if (!has_room && s->n_connections > s->config.max_connections + TURNED_AWAY_MAX)
        conn_close(c);
    else if (!has_room || (l->is_unix && check_peer(s, c, &e) < 0))
        conn_turn_away(c, &e);
    else
        conn_start(c, l->is_unix, l->is_loopback);
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    if (address->ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
    return false;
}

int server_listen(struct server *s, int fd, struct err *e)
{
    assert(s->n_listeners < ARRAY_LEN(s->listeners));
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof(address);
    getsockname(fd, (struct sockaddr *)&address, &len);
    struct server_listener *l = mem_alloc(sizeof(*l));
    l->server = s;
    l->is_unix = address.ss_family == AF_UNIX;
    l->is_loopback = is_loopback(&address);
    l->loop = loop_listener_new(s->config.loop, fd, on_connection, l);
    if (l->loop == NULL) {
        free(l);
        return err_set(e, ERR_UNAVAILABLE, "the socket does not take connections");
    }
    s->listeners[s->n_listeners++] = l;
    return 0;
}

/* ---- stopping -------------------------------------------------------------------------------- */

static void timers_closed(void *context)
{
    struct server *s = context;
    s->on_stopped(s->stop_context);
}

static void server_check_stopped(struct server *s)
{
    if (!s->is_stopping || s->n_connections > 0 || s->n_listeners > 0 || s->stop_timer == NULL)
        return;
    loop_timer_close(s->deferred_timer, NULL);
    loop_timer_close(take_ptr(s->stop_timer), timers_closed);
}

static void server_listener_closed(void *context)
{
    struct server_listener *l = context;
    struct server *s = l->server;
    free(l);
    s->n_listeners--;
    server_check_stopped(s);
}

static void grace_is_over(void *context)
{
    struct server *s = context;
    LIST_EACH(&s->connections, node)
        conn_close(CONTAINER_OF(node, struct conn, in_all));
}

void server_stop(struct server *s, uint32_t grace_ms, loop_fn on_stopped, void *context)
{
    s->is_stopping = true;
    s->on_stopped = on_stopped;
    s->stop_context = context;
    s->stop_timer = loop_timer_new(s->config.loop, grace_is_over, s);
    loop_timer_set(s->stop_timer, grace_ms);
    for (size_t i = 0; i < s->n_listeners; i++)
        loop_listener_close(s->listeners[i]->loop, server_listener_closed);
    LIST_EACH(&s->connections, node)
        conn_drain(CONTAINER_OF(node, struct conn, in_all));
    server_check_stopped(s);
}
