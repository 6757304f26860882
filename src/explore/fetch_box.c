/* The box that fetches one page, or learns where it has moved: request from descriptor 3, answer
 * to 1, the bytes of the page to 2 if they are wanted. In this order: walls; the request; the name
 * becomes addresses, and all of them are checked; a connection; no further connection is possible;
 * what the server sends is read. */
#include "base/utf8.h"
#include "explore/fetch.h"
#include "explore/fetch_lib.h"
#include "explore/fetch_url.h"
#include "explore/html.h"
#include "explore/page.h"
#include "loop/walls.h"
#include "wire/json.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#define FETCH_BOX_MEMORY (768 * MIB)
#define FETCH_HEAD_MAX (256 * KIB)

/* ---- walls ----------------------------------------------------------------------------------- */

static int fetch_set_filter(void)
{
    static const int calls[] = {
        SCMP_SYS(read),          SCMP_SYS(pread64),        SCMP_SYS(readv),
        SCMP_SYS(write),         SCMP_SYS(writev),         SCMP_SYS(recvfrom),
        SCMP_SYS(recvmsg),       SCMP_SYS(sendto),         SCMP_SYS(sendmsg),
        SCMP_SYS(sendmmsg),      SCMP_SYS(connect),        SCMP_SYS(shutdown),
        SCMP_SYS(getsockname),   SCMP_SYS(getpeername),    SCMP_SYS(getsockopt),
        SCMP_SYS(setsockopt),    SCMP_SYS(socketpair),     SCMP_SYS(eventfd2),
        SCMP_SYS(pipe2),         SCMP_SYS(poll),           SCMP_SYS(ppoll),
        SCMP_SYS(close),         SCMP_SYS(lseek),          SCMP_SYS(fcntl),
        SCMP_SYS(fstat),         SCMP_SYS(stat),           SCMP_SYS(newfstatat),
        SCMP_SYS(statx),         SCMP_SYS(access),         SCMP_SYS(readlink),
        SCMP_SYS(getdents64),    SCMP_SYS(futex),          SCMP_SYS(getrandom),
        SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday),   SCMP_SYS(time),
        SCMP_SYS(rt_sigaction),  SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
        SCMP_SYS(getpid),        SCMP_SYS(gettid),         SCMP_SYS(getuid),
        SCMP_SYS(geteuid),       SCMP_SYS(getgid),         SCMP_SYS(getegid),
        SCMP_SYS(uname),         SCMP_SYS(sysinfo),
    };
    struct walls_filter filter = walls_filter(true);
    walls_allow(&filter, calls, ARRAY_LEN(calls));
    /* For fetch_box_disconnect: filters can only be added. */
    walls_allow(&filter, (const int[]){SCMP_SYS(seccomp)}, 1);
    walls_allow_on(&filter, SCMP_SYS(prctl), PR_SET_NO_NEW_PRIVS);
    walls_allow_on(&filter, SCMP_SYS(socket), AF_INET);
    walls_allow_on(&filter, SCMP_SYS(socket), AF_INET6);
    walls_allow_opening(&filter);
    walls_allow_memory(&filter);
    walls_allow_mapping(&filter); /* the resolver and iconv load libraries */
    return walls_load(&filter);
}

int fetch_box_close(void)
{
    static const struct walls_limits limits = {.seconds = EXPLORE_JOB_MS / 1000 + 1,
                                               .memory = FETCH_BOX_MEMORY,
                                               .file_bytes = FETCH_BYTES_MAX,
                                               .n_fds = BOX_N_FDS};
    static const struct walls_path paths[] = {
        {"/lib", WALLS_READ},
        {"/lib64", WALLS_READ},
        {"/usr/lib", WALLS_READ},
        {"/usr/lib64", WALLS_READ},
        {"/etc/ld.so.cache", WALLS_READ},
        {"/etc/resolv.conf", WALLS_READ},
        {"/run/systemd/resolve", WALLS_READ},
        {"/etc/hosts", WALLS_READ},
        {"/etc/nsswitch.conf", WALLS_READ},
        {"/etc/host.conf", WALLS_READ},
        {"/etc/gai.conf", WALLS_READ},
        {"/etc/services", WALLS_READ},
        {"/etc/ssl/certs", WALLS_READ},
        {"/etc/ssl/cert.pem", WALLS_READ},
        {"/etc/ssl/openssl.cnf", WALLS_READ},
        {"/usr/share/ca-certificates", WALLS_READ},
        {"/usr/local/share/ca-certificates", WALLS_READ},
        {"/etc/pki/tls", WALLS_READ},
        {"/etc/pki/ca-trust", WALLS_READ},
    };
    int error = walls_limit(&limits);
    if (error == 0)
        error = walls_files(paths, ARRAY_LEN(paths));
    return error < 0 ? error : fetch_set_filter();
}

/* libcurl 7.88 connects what is connected already, and goes on where it is told to wait for it. */
int fetch_box_disconnect(void)
{
    int error = walls_forbid(SCMP_SYS(connect), EINPROGRESS);
    return error < 0 ? error : walls_forbid(SCMP_SYS(socket), EPERM);
}

/* ---- a connection ---------------------------------------------------------------------------- */

enum { FETCH_CONNECT_MS = 10000 };

/* A descriptor or -errno. */
static int fetch_connect_to(const struct addrinfo *address)
{
    int error = 0;
    socklen_t len = sizeof(error);
    _fd_ int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
        return take_fd(&fd);
    if (errno != EINPROGRESS)
        return -errno;
    if (poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, FETCH_CONNECT_MS) <= 0)
        return -ETIMEDOUT;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error != 0)
        return error != 0 ? -error : -errno;
    return take_fd(&fd);
}

/* The name is looked up once, and what was checked is what is connected to. */
static int fetch_connect(const json_t *domains, const struct fetch_url *url, struct err *e)
{
    char port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *all = NULL;
    int fd = -EHOSTUNREACH;
    snprintf(port, sizeof(port), "%u", url->port);
    int wrong = getaddrinfo(url->host, port, &hints, &all);
    if (wrong != 0) {
        err_set(e, ERR_UPSTREAM, "%s cannot be found: %s", url->host, gai_strerror(wrong));
        return err_advise(e, "Is the name right, and has this machine a way to the Internet?");
    }
    /* One address that is refused refuses all: who has such a name may have any. */
    for (const struct addrinfo *at = all; at != NULL; at = at->ai_next)
        if (fetch_check_address(domains, url, at->ai_addr, e) < 0)
            return -1;
    for (const struct addrinfo *at = all; at != NULL && fd < 0; at = at->ai_next)
        fd = fetch_connect_to(at);
    freeaddrinfo(all);
    if (fd >= 0)
        return fd;
    err_errno(e, ERR_UPSTREAM, -fd, "%s:%u does not answer", url->host, url->port);
    return err_advise(e, "Is the server running, and has this machine a way to it?");
}

/* ---- the page -------------------------------------------------------------------------------- */

struct fetch_page_data {
    int fd; /* the connection; -1 once curl has it */
    size_t head_bytes;
    struct buf body;
    bool is_large;
};

static curl_socket_t fetch_on_open(void *context, curlsocktype purpose,
                                   struct curl_sockaddr *address)
{
    struct fetch_page_data *page = context;
    (void)purpose;
    (void)address;
    return page->fd < 0 ? CURL_SOCKET_BAD : take_fd(&page->fd);
}

static int fetch_on_socket(void *context, curl_socket_t fd, curlsocktype purpose)
{
    (void)context;
    (void)fd;
    (void)purpose;
    return CURL_SOCKOPT_ALREADY_CONNECTED;
}

static size_t fetch_on_data(char *data, size_t size, size_t n, void *context)
{
    struct fetch_page_data *page = context;
    if (buf_append(&page->body, data, size * n))
        return size * n;
    page->is_large = true;
    return 0;
}

/* Older versions of libcurl read heads that never end. */
static size_t fetch_on_head(char *data, size_t size, size_t n, void *context)
{
    struct fetch_page_data *page = context;
    (void)data;
    page->head_bytes += size * n;
    return page->head_bytes <= FETCH_HEAD_MAX ? size * n : 0;
}

/* What the caller wants to send, and how. */
static struct curl_slist *fetch_headers(const json_t *request)
{
    const char *body = json_string_value(json_object_get(request, "body"));
    const json_t *more = json_object_get(request, "headers");
    struct curl_slist *headers = fetch_lib.curl_slist_append(
        NULL, body != NULL ? "Accept: application/json, text/event-stream"
                           : "Accept: text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.5");
    if (body != NULL)
        headers = fetch_lib.curl_slist_append(headers, "Content-Type: application/json");
    if (body != NULL)
        headers = fetch_lib.curl_slist_append(headers, "Expect:");
    for (size_t i = 0; i < json_array_size(more); i++) {
        const char *header = json_string_value(json_array_get(more, i));
        if (header != NULL && fetch_header_is_fit(header))
            headers = fetch_lib.curl_slist_append(headers, header);
    }
    return headers;
}

static CURL *fetch_prepare(const json_t *request, const struct fetch_url *parsed,
                           struct fetch_page_data *page)
{
    const char *url = json_string_value(json_object_get(request, "url"));
    const char *body = json_string_value(json_object_get(request, "body"));
    char pinned[FETCH_HOST_MAX + 64];
    /* What it resolves to does not matter: the connection is there. It keeps curl from asking. */
    snprintf(pinned, sizeof(pinned), "%s:%u:192.0.2.1", parsed->host, parsed->port);
    CURL *curl = fetch_lib.curl_easy_init();
    if (curl == NULL)
        return NULL;
    struct curl_slist *resolve = fetch_lib.curl_slist_append(NULL, pinned);
    struct curl_slist *headers = fetch_headers(request);
    CURLcode wrong = CURLE_OK;
#define SET(option, value)                                                                         \
    wrong = wrong != CURLE_OK ? wrong : fetch_lib.curl_easy_setopt(curl, option, value)
    SET(CURLOPT_URL, url);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NOPROXY, "*");
    SET(CURLOPT_NOSIGNAL, 1L);
    if (strchr(parsed->host, ':') == NULL) /* an address needs no resolving */
        SET(CURLOPT_RESOLVE, resolve);
    SET(CURLOPT_HTTPHEADER, headers);
    if (body != NULL) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE, (long)strlen(body));
        SET(CURLOPT_POSTFIELDS, body);
    }
    SET(CURLOPT_USERAGENT, "cella/" CELLA_VERSION);
    SET(CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
    SET(CURLOPT_OPENSOCKETFUNCTION, fetch_on_open);
    SET(CURLOPT_OPENSOCKETDATA, page);
    SET(CURLOPT_SOCKOPTFUNCTION, fetch_on_socket);
    SET(CURLOPT_HEADERFUNCTION, fetch_on_head);
    SET(CURLOPT_HEADERDATA, page);
    SET(CURLOPT_WRITEFUNCTION, fetch_on_data);
    SET(CURLOPT_WRITEDATA, page);
#undef SET
    return wrong == CURLE_OK ? curl : NULL;
}

static int fetch_describe(CURLcode wrong, const struct fetch_url *url,
                          const struct fetch_page_data *page, struct err *e)
{
    if (page->is_large) {
        err_set(e, ERR_TOO_LARGE, "the page has more than %zu MiB", FETCH_BYTES_MAX / MIB);
        return err_advise(e, "Pages of that size are files: load them by the session's own means, "
                             "or ask for a part.");
    }
    if (wrong == CURLE_PEER_FAILED_VERIFICATION) {
        err_set(e, ERR_UPSTREAM, "the certificate of %s cannot be trusted", url->host);
        return err_advise(e, "It is checked against the certificates of this machine (Debian: "
                             "ca-certificates).");
    }
    err_set(e, ERR_UPSTREAM, "%s:%u did not answer as a server should: %s", url->host, url->port,
            fetch_lib.curl_easy_strerror(wrong));
    return err_advise(e, "Ask again later, or for another page.");
}

static int fetch_answer(CURL *curl, const json_t *request, struct fetch_page_data *page,
                        struct buf *answer, struct err *e)
{
    long status = 0;
    const char *redirect = NULL, *type = NULL;
    struct json_out out = JSON_OUT(answer);
    fetch_lib.curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    fetch_lib.curl_easy_getinfo(curl, CURLINFO_REDIRECT_URL, &redirect);
    fetch_lib.curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
    json_put_object(&out);
    if (redirect != NULL && json_object_get(request, "body") == NULL) {
        json_put_member_text(&out, "redirect", redirect, strlen(redirect));
        json_put_object_end(&out);
        return 0;
    }
    json_put_member_str(&out, "url", json_string_value(json_object_get(request, "url")));
    json_put_member_int(&out, "status", status);
    if (type != NULL)
        json_put_member_text(&out, "content_type", type, strnlen(type, 200));
    if (json_is_true(json_object_get(request, "is_raw"))) {
        json_put_member_int(&out, "bytes", (int64_t)page->body.len);
        int error = explore_box_write(BOX_TO, buf_str(&page->body), page->body.len);
        if (error < 0)
            return err_errno(e, ERR_GONE, -error, "the page could not be written");
    } else {
        size_t most = (size_t)json_integer_value(json_object_get(request, "max_chars"));
        if (page_put_text(&out, page->body.data, page->body.len, type, most, e) < 0)
            return -1;
    }
    json_put_object_end(&out);
    return 0;
}

/* ---- in order -------------------------------------------------------------------------------- */

static int fetch_run(const json_t *request, struct buf *answer, struct err *e)
{
    const char *text = json_string_value(json_object_get(request, "url"));
    const json_t *domains = json_object_get(request, "domains");
    struct fetch_page_data page = {.body = BUF_INIT(FETCH_BYTES_MAX)};
    struct fetch_url url;
    if (text == NULL || fetch_url_parse(text, &url, e) < 0 ||
        fetch_check_host(domains, &url, e) < 0)
        return -1;
    page.fd = fetch_connect(domains, &url, e);
    if (page.fd < 0)
        return -1;
    CURL *curl = fetch_prepare(request, &url, &page);
    if (curl == NULL)
        _exit(BOX_NO_LIBRARY);
    if (fetch_box_disconnect() < 0)
        _exit(BOX_NO_WALLS);
    CURLcode wrong = fetch_lib.curl_easy_perform(curl);
    return wrong == CURLE_OK ? fetch_answer(curl, request, &page, answer, e)
                             : fetch_describe(wrong, &url, &page, e);
}

int fetch_box_main(void)
{
    struct err e;
    struct buf answer = BUF_INIT(EXPLORE_REPORT_MAX);
    explore_box_warm_up();
    signal(SIGPIPE, SIG_IGN);
    if (!fetch_lib_load())
        return BOX_NO_LIBRARY;
    if (fetch_box_close() < 0)
        return BOX_NO_WALLS;
    const json_t *request = explore_box_request();
    if (request == NULL)
        _exit(BOX_MISUSED);
    if (fetch_run(request, &answer, &e) < 0)
        explore_box_fail(&e);
    explore_box_answer(&answer);
}
