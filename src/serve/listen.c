/* Sockets that clients connect to. Daemon at its start, before it gives up what it may do. */
#include "serve/listen.h"

#include "serve/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static int refuse_address(const char *address, struct err *e)
{
    err_set(e, ERR_INVALID, "cannot listen on \"%.100s\": that is not HOST:PORT", address);
    return err_advise(e, "Write it as 127.0.0.1:7300 or [::1]:7300; port 0 picks a free one.");
}

/* Cuts "HOST:PORT" in two; brackets around a V6 address are taken off. */
static int split_address(const char *address, char *host, size_t host_size, const char **ret_port,
                         struct err *e)
{
    const char *colon = strrchr(address, ':');
    if (colon == NULL || colon == address || colon[1] == '\0' ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
        strtoul(colon + 1, NULL, 10) > UINT16_MAX)
        return refuse_address(address, e);
    const char *from = address, *to = colon;
    if (*from == '[' && to[-1] == ']') {
        from++;
        to--;
    } else if (memchr(from, ':', (size_t)(to - from)) != NULL) {
        return refuse_address(address, e);
    }
    size_t len = (size_t)(to - from);
    if (len == 0 || len >= host_size)
        return refuse_address(address, e);
    memcpy(host, from, len);
    host[len] = '\0';
    *ret_port = colon + 1;
    return 0;
}

static int listen_resolve(const char *address, struct addrinfo **ret, struct err *e)
{
    char host[256];
    const char *port = NULL;
    if (split_address(address, host, sizeof(host), &port, e) < 0)
        return -1;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                             /* One socket: a name that has both kinds means the common one. */
                             .ai_family = strcmp(host, "localhost") == 0 ? AF_INET : AF_UNSPEC};
    int rc = getaddrinfo(host, port, &hints, ret);
    if (rc == 0)
        return 0;
    err_set(e, ERR_INVALID, "cannot listen on \"%.100s\": %s", address, gai_strerror(rc));
    return err_advise(e, "Name an address of this machine, for example 127.0.0.1:7300.");
}

union bound {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static union bound find_bound(int fd)
{
    union bound bound = {0};
    socklen_t len = sizeof(bound);
    getsockname(fd, &bound.any, &len);
    return bound;
}

bool listen_is_everywhere(int fd)
{
    union bound bound = find_bound(fd);
    return bound.any.sa_family == AF_INET ? bound.v4.sin_addr.s_addr == htonl(INADDR_ANY)
                                          : IN6_IS_ADDR_UNSPECIFIED(&bound.v6.sin6_addr);
}

/* A wildcard is no address to connect to; this machine is found on its loopback. */
static void write_url(int fd, char url[LISTEN_URL_SIZE])
{
    union bound bound = find_bound(fd);
    char text[INET6_ADDRSTRLEN] = "127.0.0.1";
    if (bound.any.sa_family == AF_INET) {
        if (!listen_is_everywhere(fd))
            inet_ntop(AF_INET, &bound.v4.sin_addr, text, sizeof(text));
        snprintf(url, LISTEN_URL_SIZE, "http://%s:%u", text, ntohs(bound.v4.sin_port));
    } else {
        if (listen_is_everywhere(fd))
            bound.v6.sin6_addr = in6addr_loopback;
        inet_ntop(AF_INET6, &bound.v6.sin6_addr, text, sizeof(text));
        snprintf(url, LISTEN_URL_SIZE, "http://[%s]:%u", text, ntohs(bound.v6.sin6_port));
    }
}

static int bind_to(const struct addrinfo *to, int *ret_fd)
{
    _fd_ int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    int on = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, to->ai_addr, to->ai_addrlen) < 0)
        return -errno;
    *ret_fd = take_fd(&fd);
    return 0;
}

int listen_tcp(const char *address, bool only_loopback, int *ret_fd, char ret_url[LISTEN_URL_SIZE],
               struct err *e)
{
    struct addrinfo *found = NULL;
    if (listen_resolve(address, &found, e) < 0)
        return -1;
    const struct sockaddr_in *v4 = (const void *)found->ai_addr;
    const struct sockaddr_in6 *v6 = (const void *)found->ai_addr;
    bool is_loopback = found->ai_addr->sa_family == AF_INET
                           ? ntohl(v4->sin_addr.s_addr) >> 24 == 127
                           : IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    bool is_allowed = !only_loopback || is_loopback;
    int rc = is_allowed ? bind_to(found, ret_fd) : 0;
    freeaddrinfo(found);
    if (!is_allowed) {
        err_set(e, ERR_FORBIDDEN, "--no-auth is possible on loopback only, not on \"%.100s\"",
                address);
        return err_advise(e, "Listen on 127.0.0.1 or [::1], or leave --no-auth out.");
    }
    if (rc < 0) {
        err_errno(e, ERR_UNAVAILABLE, rc, "cannot listen on %.100s", address);
        return err_advise(e, rc == -EADDRINUSE
                                 ? "Another program uses this port; choose one with --listen "
                                   "HOST:PORT (port 0 picks a free one)."
                                 : "Name an address of this machine with --listen HOST:PORT.");
    }
    write_url(*ret_fd, ret_url);
    return 0;
}

int listen_unix(int dir_fd, int *ret_fd, struct err *e)
{
    _fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "making the UNIX socket");
    /* Through the descriptor: a data directory's path may be longer than sun_path. */
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir_fd,
             SERVE_SOCKET);
    if (unlinkat(dir_fd, SERVE_SOCKET, 0) < 0 && errno != ENOENT)
        return err_errno(e, ERR_UNAVAILABLE, errno, "removing the old %s", SERVE_SOCKET);
    mode_t old = umask(0177);
    int rc = bind(fd, (struct sockaddr *)&address, sizeof(address));
    int error = errno;
    umask(old);
    if (rc < 0) {
        err_errno(e, ERR_UNAVAILABLE, error, "making %s in the data directory", SERVE_SOCKET);
        return err_advise(e, "The data directory must be writable, and on a local file system.");
    }
    *ret_fd = take_fd(&fd);
    return 0;
}
