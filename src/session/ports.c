/* Connections to the ports of sessions, in the daemon. Owns each socket until it is connected. */
#include "session/ports.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "runtime/pool.h"
#include "session/engine_state.h"
#include "session/session.h"
#include "session/tickets.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum {
    PORTS_CONNECT_MS = 5000,         /* for socket and connection */
    PORTS_KERNEL_BYTES = 256 * 1024, /* of one connection and direction, at most */
};

struct port_link {
    struct list node; /* in session->ports.links */
    struct session *session;
    const struct port_listener *listener;
    void *context;
    uint16_t port;
    int family;               /* that is tried now: first IPv4, then IPv6 */
    uint64_t ticket;          /* of the socket that the warden is asked for; 0: it is not */
    int sock;                 /* while it is being connected, else -1 */
    struct loop_poll *poll;   /* likewise, else NULL */
    struct loop_timer *timer; /* the deadline; NULL once connected */
};

void ports_init(struct session *session)
{
    list_init(&session->ports.links);
}

bool ports_are_used(const struct session *session)
{
    return session->ports.n_links > 0;
}

/* All that connecting took. */
static void ports_end_attempt(struct port_link *link)
{
    struct engine *engine = link->session->engine;
    if (link->ticket != 0)
        tickets_forget(engine, link->ticket);
    link->ticket = 0;
    loop_poll_close(take_ptr(link->poll), NULL);
    cleanup_fd(&link->sock);
    link->sock = -1;
}

void port_close(struct port_link *link)
{
    if (link == NULL)
        return;
    struct session *session = link->session;
    ports_end_attempt(link);
    loop_timer_close(take_ptr(link->timer), NULL);
    list_remove(&link->node);
    session->ports.n_links--;
    session->engine->n_port_links--;
    session_restart_idle(session);
    free(link);
}

static void ports_fail(struct port_link *link, const struct err *e)
{
    const struct port_listener *listener = link->listener;
    void *context = link->context;
    port_close(link);
    listener->on_failed(context, e);
}

void ports_cut_all(struct session *session)
{
    struct err e;
    struct list *node;
    while ((node = list_first(&session->ports.links)) != NULL) {
        struct port_link *link = CONTAINER_OF(node, struct port_link, node);
        if (link->timer != NULL) {
            err_set(&e, ERR_GONE, "the session's processes ended");
            err_advise(&e, "Start the server again, in a session that runs.");
            ports_fail(link, &e);
            continue;
        }
        const struct port_listener *listener = link->listener;
        void *context = link->context;
        port_close(link);
        listener->on_cut(context);
    }
}

/* ---- connecting ------------------------------------------------------------------------------ */

static void ports_ask_for_socket(struct port_link *link);

/* Nobody listens: a server may have taken the other kind of address only. */
static void ports_on_refused(struct port_link *link)
{
    struct err e;
    ports_end_attempt(link);
    if (link->family == AF_INET) {
        link->family = AF_INET6;
        ports_ask_for_socket(link);
        return;
    }
    err_set(&e, ERR_UPSTREAM, "nothing listens on port %u in the session", link->port);
    err_advise(&e, "Start the server in a cell, in the background (nohup … &, a thread or "
                   "subprocess.Popen), on 127.0.0.1 or 0.0.0.0, and try again.");
    ports_fail(link, &e);
}

static void ports_on_ready(void *context, int events)
{
    (void)events;
    struct port_link *link = context;
    int error = 0;
    socklen_t len = sizeof(error);
    if (getsockopt(link->sock, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        error = errno;
    /* One that asks for a port of its own number may be connected to itself: TCP allows that. */
    struct sockaddr_storage here = {0}, there = {0};
    len = sizeof(here);
    getsockname(link->sock, (struct sockaddr *)&here, &len);
    len = sizeof(there);
    getpeername(link->sock, (struct sockaddr *)&there, &len);
    if (error != 0 || memcmp(&here, &there, sizeof(here)) == 0) {
        ports_on_refused(link);
        return;
    }
    loop_poll_close(take_ptr(link->poll), NULL);
    loop_timer_close(take_ptr(link->timer), NULL);
    int sock = link->sock;
    link->sock = -1;
    link->listener->on_connected(link->context, sock);
}

/* What the kernel keeps for a connection is the daemon's memory, not the session's. */
static int ports_connect(int sock, int family, uint16_t port)
{
    struct sockaddr_in v4 = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const int bytes = PORTS_KERNEL_BYTES;
    setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    setsockopt(sock, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    int r = family == AF_INET ? connect(sock, (struct sockaddr *)&v4, sizeof(v4))
                              : connect(sock, (struct sockaddr *)&v6, sizeof(v6));
    return r == 0 || errno == EINPROGRESS ? 0 : -errno;
}

static void ports_on_socket(void *context, const struct warden_event *event)
{
    struct err e;
    struct port_link *link = context;
    link->ticket = 0;
    link->sock = event->fd;
    if (event->fd < 0) {
        err_set(&e, ERR_UNAVAILABLE, "the session's ports cannot be reached: %s", event->text);
        err_advise(&e, "Try again in a moment.");
        ports_fail(link, &e);
        return;
    }
    if (ports_connect(link->sock, link->family, link->port) < 0) {
        ports_on_refused(link);
        return;
    }
    link->poll = loop_poll_new(link->session->engine->loop, link->sock, ports_on_ready, link);
    if (link->poll != NULL) {
        loop_poll_want(link->poll, LOOP_WRITE);
        return;
    }
    err_set(&e, ERR_UNAVAILABLE, "the daemon cannot watch another socket");
    err_advise(&e, "Close connections that are not needed and try again.");
    ports_fail(link, &e);
}

static void ports_ask_for_socket(struct port_link *link)
{
    struct err e;
    const struct session *session = link->session;
    struct engine *engine = session->engine;
    link->ticket = pool_new_number(engine->pool);
    tickets_expect(engine, link->ticket, WARDEN_SOCKET, ports_on_socket, link);
    if (warden_make_socket(engine->warden, session->room->jail, link->ticket, link->family, &e) < 0)
        loop_timer_set(link->timer, 0); /* the caller is told from the loop */
}

static void ports_on_late(void *context)
{
    struct err e;
    struct port_link *link = context;
    err_set(&e, ERR_UPSTREAM, "what listens on port %u in the session takes no connections",
            link->port);
    err_advise(&e, "Its queue may be full, or its process stopped: look at it in a cell.");
    ports_fail(link, &e);
}

static int ports_check(const struct session *session, struct err *e)
{
    const struct engine *engine = session->engine;
    if (session_refuse_if_dead(session, e) < 0)
        return -1;
    if (session->state == SESSION_SUSPENDED) {
        err_set(e, ERR_CONFLICT, "the session is suspended: no process of it runs");
        return err_advise(e, "Run a cell, which brings the session back, and start the server in "
                             "it again: processes do not outlive a suspension.");
    }
    if (session->state == SESSION_STARTING || session->room == NULL) {
        err_set(e, ERR_CONFLICT, "the session has not started yet");
        return err_advise(e, "Try again in a moment.");
    }
    if (session->ports.n_links < PORTS_SESSION_MAX && engine->n_port_links < PORTS_DAEMON_MAX)
        return 0;
    bool is_session = session->ports.n_links >= PORTS_SESSION_MAX;
    err_set(e, ERR_LIMIT, "%d connections to ports of %s are open, as many as there may be",
            is_session ? PORTS_SESSION_MAX : PORTS_DAEMON_MAX,
            is_session ? "this session" : "sessions");
    return err_advise(e, "Close those that are not needed.");
}

struct port_link *port_open(struct session *session, uint16_t port,
                            const struct port_listener *listener, void *context, struct err *e)
{
    if (ports_check(session, e) < 0)
        return NULL;
    struct port_link *link = mem_alloc(sizeof(*link));
    *link = (struct port_link){.session = session,
                               .listener = listener,
                               .context = context,
                               .port = port,
                               .family = AF_INET,
                               .sock = -1};
    list_append(&session->ports.links, &link->node);
    session->ports.n_links++;
    session->engine->n_port_links++;
    session_restart_idle(session);
    link->timer = loop_timer_new(session->engine->loop, ports_on_late, link);
    loop_timer_set(link->timer, clock_scaled_ms(PORTS_CONNECT_MS));
    ports_ask_for_socket(link);
    return link;
}
