/* Web pages by real boxes, from a server on the loopback that may be as hostile as it likes. */
#include "base/fd.h"
#include "explore/fetch.h"
#include "explore/fetch_url.h"
#include "explore/html.h"
#include "explore/page.h"
#include "loop/loop.h"
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* ---- a server -------------------------------------------------------------------------------- */

static unsigned port;
static char listed[32]; /* "127.0.0.1:PORT" */

#define HTML_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"

static const struct {
    const char *path, *answer;
} pages[] = {
    {"/page", HTML_HEAD "\r\n<html><head><title>The &amp; title</title><script>if (a<b) x()"
                        "</script></head><body><h1>Hello</h1><p>A <a href='/x'>link</a> and "
                        "<b>bold</b>&nbsp;&eacute;.</p><ul><li>one<li>two</ul></body></html>"},
    {"/plain", "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n\r\nno < such page"},
    {"/latin1", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
                "<meta charset=\"iso-8859-1\"><p>caf\xe9"},
    {"/sjis", "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=shift_jis\r\n\r\n"
              "\x93\xfa\x96\x7b"},
    {"/png", "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x89PNG"},
    {"/moved", "HTTP/1.1 302 Found\r\nLocation: page\r\nContent-Length: 4\r\n\r\ngone"},
    {"/loop", "HTTP/1.1 301 Moved\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n"},
    {"/metadata", "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/meta-data/\r\n"
                  "Content-Length: 0\r\n\r\n"},
    {"/file", "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"},
    {"/nonsense", "220 smtp.example.org ESMTP\r\n"},
    {"/short", HTML_HEAD "Content-Length: 1000\r\n\r\nnot all of it"},
};

static bool send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

static void serve_path(int fd, const char *path)
{
    static char block[64 * KIB];
    if (strcmp(path, "/endless") == 0) {
        memset(block, 'x', sizeof(block));
        for (bool is_open = send_all(fd, HTML_HEAD "\r\n", strlen(HTML_HEAD) + 2); is_open;)
            is_open = send_all(fd, block, sizeof(block));
    } else if (strcmp(path, "/slow") == 0) {
        for (bool is_open = send_all(fd, HTML_HEAD "\r\n", strlen(HTML_HEAD) + 2); is_open;
             usleep(50000))
            is_open = send_all(fd, "x", 1);
    } else if (strcmp(path, "/head") == 0) {
        for (bool is_open = send_all(fd, "HTTP/1.1 200 OK\r\n", 17); is_open;)
            is_open = send_all(fd, "X-More: and more\r\n", 18);
    } else if (strcmp(path, "/to-localhost") == 0) {
        char answer[128];
        snprintf(answer, sizeof(answer),
                 "HTTP/1.1 302 Found\r\nLocation: http://localhost:%u/page\r\n\r\n", port);
        send_all(fd, answer, strlen(answer));
    }
    for (size_t i = 0; i < ARRAY_LEN(pages); i++)
        if (strcmp(pages[i].path, path) == 0)
            send_all(fd, pages[i].answer, strlen(pages[i].answer));
}

static void *serve_one(void *context)
{
    int fd = (int)(intptr_t)context;
    char request[2048];
    size_t len = 0;
    while (len < sizeof(request) - 1) {
        ssize_t n = recv(fd, request + len, sizeof(request) - 1 - len, 0);
        if (n <= 0)
            break;
        len += (size_t)n;
        request[len] = '\0';
        if (strstr(request, "\r\n\r\n") != NULL || request[0] == 0x16 /* TLS */)
            break;
    }
    char path[64] = "";
    if (len > 0 && sscanf(request, "GET %63s HTTP/1.1", path) == 1)
        serve_path(fd, path);
    shutdown(fd, SHUT_RDWR);
    close(fd);
    return NULL;
}

static void *serve(void *context)
{
    for (;;) {
        pthread_t thread;
        int fd = accept4((int)(intptr_t)context, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return NULL;
        pthread_create(&thread, NULL, serve_one, (void *)(intptr_t)fd);
        pthread_detach(thread);
    }
}

static void start_server(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    pthread_t thread;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(listener, 64), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    port = ntohs(address.sin_port);
    snprintf(listed, sizeof(listed), "127.0.0.1:%u", port);
    pthread_create(&thread, NULL, serve, (void *)(intptr_t)listener);
    pthread_detach(thread);
}

/* The same on ::1; false if this machine has none. */
static bool start_server_v6(void)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                   .sin6_addr = IN6ADDR_LOOPBACK_INIT,
                                   .sin6_port = htons((uint16_t)port)};
    pthread_t thread;
    int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(listener, 64) < 0)
        return false;
    pthread_create(&thread, NULL, serve, (void *)(intptr_t)listener);
    pthread_detach(thread);
    return true;
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct world {
    uv_loop_t loop;
    struct explore_boxes *boxes;
};

struct answer {
    int n;
    json_t *result;
    struct err err;
};

static int setup(void **state)
{
    struct world *w = mem_alloc(sizeof(*w));
    uv_loop_init(&w->loop);
    w->boxes = explore_boxes_new(&w->loop);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    explore_boxes_free(w->boxes);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    free(w);
    return 0;
}

static void on_answer(void *context, json_t *result, const struct err *e)
{
    struct answer *answer = context;
    answer->n++;
    answer->result = json_incref(result);
    if (e != NULL)
        answer->err = *e;
}

static struct answer fetch_by(struct world *w, struct fetch_request request)
{
    struct answer answer = {0};
    if (fetch_page(w->boxes, &request, on_answer, &answer, &answer.err) == NULL)
        return answer;
    assert_int_equal(answer.n, 0);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(answer.n, 1);
    return answer;
}

static struct answer fetch(struct world *w, const char *path)
{
    char url[128];
    snprintf(url, sizeof(url), "http://%s%s", listed, path);
    return fetch_by(
        w, (struct fetch_request){
               .url = url, .domains = (const char *const[]){listed}, .n_domains = 1, .to = -1});
}

static void require_member(const struct answer *answer, const char *name, const char *text)
{
    if (answer->result == NULL)
        fail_msg("%s: %s", err_code_name(answer->err.code), answer->err.message);
    const char *found = json_string_value(json_object_get(answer->result, name));
    if (found == NULL || strcmp(found, text) != 0)
        fail_msg("%s is \"%s\"", name, found == NULL ? "" : found);
}

static void require_error(struct answer answer, enum err_code code, const char *text)
{
    if (answer.result != NULL || answer.err.code != code ||
        strstr(answer.err.message, text) == NULL || answer.err.advice[0] == '\0')
        fail_msg("%s: %s | %s", err_code_name(answer.err.code), answer.err.message,
                 answer.err.advice);
}

/* ---- what is fetched ------------------------------------------------------------------------- */

static void pages_become_text(void **state)
{
    struct answer answer = fetch(*state, "/page");
    require_member(&answer, "title", "The & title");
    require_member(&answer, "text", "# Hello\n\nA link and bold é.\n\n- one\n- two");
    assert_int_equal(json_integer_value(json_object_get(answer.result, "status")), 200);
    assert_true(json_is_false(json_object_get(answer.result, "is_cut")));
    json_decref(answer.result);
    answer = fetch(*state, "/plain");
    require_member(&answer, "text", "no < such page");
    assert_int_equal(json_integer_value(json_object_get(answer.result, "status")), 404);
    json_decref(answer.result);
    answer = fetch(*state, "/latin1");
    require_member(&answer, "text", "café");
    json_decref(answer.result);
    answer = fetch(*state, "/sjis");
    require_member(&answer, "text", "日本");
    json_decref(answer.result);
    answer = fetch(*state, "/moved");
    require_member(&answer, "title", "The & title");
    char url[64];
    snprintf(url, sizeof(url), "http://%s/page", listed);
    require_member(&answer, "url", url);
    json_decref(answer.result);
}

static void texts_are_cut_and_bytes_go_into_a_file(void **state)
{
    char url[64], bytes[16] = "";
    const char *const domains[] = {listed};
    _fd_ int to = memfd_create("to", MFD_CLOEXEC);
    snprintf(url, sizeof(url), "http://%s/page", listed);
    struct answer answer =
        fetch_by(*state, (struct fetch_request){url, domains, 1, .max_chars = 9, .to = -1});
    require_member(&answer, "text", "# Hello\n\n");
    assert_int_equal(json_integer_value(json_object_get(answer.result, "chars")), 40);
    assert_true(json_is_true(json_object_get(answer.result, "is_cut")));
    json_decref(answer.result);
    require_error(fetch(*state, "/png"), ERR_CONFLICT, "the page is no text but image/png");
    snprintf(url, sizeof(url), "http://%s/png", listed);
    answer = fetch_by(*state, (struct fetch_request){url, domains, 1, .to = dup(to)});
    require_member(&answer, "content_type", "image/png");
    assert_int_equal(json_integer_value(json_object_get(answer.result, "bytes")), 4);
    assert_int_equal(pread(to, bytes, sizeof(bytes), 0), 4);
    assert_string_equal(bytes, "\x89PNG");
    json_decref(answer.result);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void what_is_not_listed_is_refused(void **state)
{
    char url[128];
    const char *const domains[] = {listed, "example.org", "*.example.com"};
    snprintf(url, sizeof(url), "http://%s/page", listed);
    require_error(fetch_by(*state, (struct fetch_request){url, NULL, 0, .to = -1}), ERR_FORBIDDEN,
                  "no domain is listed");
    static const char *const refused[] = {
        "http://127.0.0.1/page",        "http://127.0.0.2:1/",    "http://evil.example.org/",
        "http://example.com/",          "http://badexample.com/", "http://example.org:22/",
        "http://example.org.evil.net/", "http://[::1]/",
    };
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        require_error(fetch_by(*state, (struct fetch_request){refused[i], domains, 3, .to = -1}),
                      ERR_FORBIDDEN, "is not among the domains");
    static const char *const unreadable[] = {
        "ftp://example.org/",
        "file:///etc/passwd",
        "http://user@example.org/",
        "http://2130706433/",
        "http://0x7f.0.0.1/",
        "http://127.1/",
        "http://example.org\\@x/",
        "http://exa mple.org/",
        "http://ex\xc3\xa4mple.org/",
        "http:///",
        "http://example.org:0/",
        "http://example.org:99999/",
        "http://0177.0.0.1/",
        "gopher://example.org/",
        "http://[::1/",
    };
    for (size_t i = 0; i < ARRAY_LEN(unreadable); i++) {
        struct answer answer =
            fetch_by(*state, (struct fetch_request){unreadable[i], domains, 3, .to = -1});
        if (answer.result != NULL || answer.err.code != ERR_INVALID)
            fail_msg("%s: %s", unreadable[i], answer.err.message);
    }
}

/* The name is listed, its address is not. */
static void names_of_private_addresses_are_refused(void **state)
{
    char url[64], entry[32];
    snprintf(url, sizeof(url), "http://localhost:%u/page", port);
    snprintf(entry, sizeof(entry), "localhost:%u", port);
    const char *const domains[] = {entry, listed, "[::1]"};
    struct answer answer = fetch_by(*state, (struct fetch_request){url, domains, 1, .to = -1});
    require_error(answer, ERR_FORBIDDEN, "which is no address of the public Internet");
    char v6[32];
    snprintf(v6, sizeof(v6), "[::1]:%u", port);
    const char *const both[] = {entry, listed, v6};
    answer = fetch_by(*state, (struct fetch_request){url, both, 3, .to = -1});
    require_member(&answer, "title", "The & title");
    json_decref(answer.result);
}

static void addresses_of_ipv6_are_fetched_from(void **state)
{
    char url[64], entry[32];
    if (!start_server_v6())
        skip();
    snprintf(url, sizeof(url), "http://[::1]:%u/moved", port);
    snprintf(entry, sizeof(entry), "[::1]:%u", port);
    struct answer answer =
        fetch_by(*state, (struct fetch_request){url, (const char *const[]){entry}, 1, .to = -1});
    require_member(&answer, "title", "The & title");
    json_decref(answer.result);
}

static void redirections_are_checked_as_the_first_was(void **state)
{
    require_error(fetch(*state, "/metadata"), ERR_FORBIDDEN,
                  "the page leads to another: 169.254.169.254:80 is not among the domains");
    require_error(fetch(*state, "/file"), ERR_INVALID,
                  "the page leads to another: only http and https are fetched");
    require_error(fetch(*state, "/loop"), ERR_UPSTREAM, "more than 5 times");
    require_error(fetch(*state, "/to-localhost"), ERR_FORBIDDEN, "localhost:");
    /* Also where the name is listed. */
    char url[64], entry[32];
    snprintf(url, sizeof(url), "http://%s/to-localhost", listed);
    snprintf(entry, sizeof(entry), "localhost:%u", port);
    require_error(
        fetch_by(*state, (struct fetch_request){url, (const char *const[]){entry, "127.0.0.1:1"}, 2,
                                                .to = -1}),
        ERR_FORBIDDEN, "is not among the domains");
}

static void servers_that_misbehave_are_told_of(void **state)
{
    require_error(fetch(*state, "/endless"), ERR_TOO_LARGE, "the page has more than 10 MiB");
    require_error(fetch(*state, "/slow"), ERR_TIMEOUT, "the page was not read within 30 s");
    require_error(fetch(*state, "/head"), ERR_UPSTREAM, "did not answer as a server should");
    require_error(fetch(*state, "/nonsense"), ERR_UPSTREAM, "did not answer as a server should");
    require_error(fetch(*state, "/short"), ERR_UPSTREAM, "did not answer as a server should");
    const char *const nobody[] = {"127.0.0.1:1", "name.invalid"};
    require_error(
        fetch_by(*state, (struct fetch_request){"http://127.0.0.1:1/", nobody, 2, .to = -1}),
        ERR_UPSTREAM, "127.0.0.1:1 does not answer");
    require_error(
        fetch_by(*state, (struct fetch_request){"http://name.invalid/", nobody, 2, .to = -1}),
        ERR_UPSTREAM, "name.invalid cannot be found");
    /* A server without TLS. */
    char url[64];
    snprintf(url, sizeof(url), "https://%s/page", listed);
    require_error(
        fetch_by(*state, (struct fetch_request){url, (const char *const[]){listed}, 1, .to = -1}),
        ERR_UPSTREAM, "did not answer as a server should");
}

static bool is_allowed(const char *address, const char *entry)
{
    struct fetch_url url = {.host = "name", .port = 80};
    struct sockaddr_storage storage = {0};
    struct sockaddr_in *v4 = (void *)&storage;
    struct sockaddr_in6 *v6 = (void *)&storage;
    struct err e;
    json_t *domains = entry == NULL ? json_array() : json_pack("[s]", entry);
    if (inet_pton(AF_INET, address, &v4->sin_addr) == 1)
        v4->sin_family = AF_INET;
    else if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1)
        v6->sin6_family = AF_INET6;
    bool is = fetch_check_address(domains, &url, (struct sockaddr *)&storage, &e) == 0;
    json_decref(domains);
    return is;
}

static void addresses_are_told_apart(void **state)
{
    (void)state;
    static const char *const apart[] = {
        "0.0.0.0",
        "10.1.2.3",
        "100.100.100.200",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.168.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "168.63.129.16",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::a00:1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "ff02::1",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "2001:db8::1",
        "2001::1",
        "::127.0.0.1",
        "fec0::1",
    };
    static const char *const public[] = {"1.1.1.1",     "172.32.0.1",       "100.128.0.1",
                                         "169.255.0.1", "2606:4700::1111",  "::ffff:1.1.1.1",
                                         "192.1.2.3",   "64:ff9b::101:101", "2002:101:101::1"};
    for (size_t i = 0; i < ARRAY_LEN(apart); i++)
        if (is_allowed(apart[i], NULL) || is_allowed(apart[i], "*.example.org"))
            fail_msg("%s is public", apart[i]);
    for (size_t i = 0; i < ARRAY_LEN(public); i++)
        if (!is_allowed(public[i], NULL))
            fail_msg("%s is not public", public[i]);
    assert_true(is_allowed("10.1.2.3", "10.1.2.3"));
    assert_true(is_allowed("10.1.2.3", "10.1.2.3:80"));
    assert_false(is_allowed("10.1.2.3", "10.1.2.3:81"));
    assert_true(is_allowed("::1", "[0:0::1]:80"));
    static const char *const entries[] = {"example.org", "*.example.org", "a.b:8080", "[::1]:1",
                                          "127.0.0.1"};
    for (size_t i = 0; i < ARRAY_LEN(entries); i++)
        assert_true(fetch_entry_is_valid(entries[i]));
    static const char *const wrong[] = {
        "", "*", "*.org", "http://example.org", "a b", "example.org/", "*.1.2.3.4", "a:0", "[::1"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        if (fetch_entry_is_valid(wrong[i]))
            fail_msg("%s is valid", wrong[i]);
}

/* ---- HTML ------------------------------------------------------------------------------------ */

static void html_is_read_whatever_it_is(void **state)
{
    (void)state;
    static const struct {
        const char *html, *text;
    } cases[] = {
        {"plain  text\n with   spaces ", "plain text with spaces"},
        {"<p>one</p><p>two<br>three</p>", "one\n\ntwo\nthree"},
        {"<h2>A</h2><div>b</div><div>c</div>", "## A\n\nb\nc"},
        {"a<script>var x = '<p>';</script>b<STYLE>p{}</StYle >c", "abc"},
        {"<!-- no <p> -->a<!doctype html>b<?xml ?>c", "abc"},
        {"<a href=\"x>y\">link</a> <img alt='>'>end", "link end"},
        {"<table><tr><td>a</td><td>b</td></tr><tr><th>c<td>d</table>", "a | b\nc | d"},
        {"<pre>  a\n   b</pre>", "  a\n   b"},
        {"&lt;&#65;&#x42;&unknown;&amp&#0;&#xd800;&hellip;", "<AB&unknown;&amp\xef\xbf\xbd"
                                                             "\xef\xbf\xbd\xe2\x80\xa6"},
        {"1 < 2 <3 <", "1 < 2 <3 <"},
        {"a<svg/>b<svg>c", "abc"},
        {"<li>x<li>y", "- x\n- y"},
        {"<title>T</title>x<title>U</title>", "x"},
        {"<script>never closed", "never closed"},
        {"<p class='", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct html_text t = {.text = BUF_INIT(KIB), .title = BUF_INIT(KIB), .max_chars = 1000};
        html_to_text(cases[i].html, strlen(cases[i].html), &t);
        assert_string_equal(buf_str(&t.text), cases[i].text);
        buf_free(&t.text);
        buf_free(&t.title);
    }
}

/* ---- the walls ------------------------------------------------------------------------------- */

static const char *const tries[] = {"passwd", "write", "fork",    "shell",
                                    "unix",   "bind",  "connect", "again"};

static int try_walls(const char *what, long port_to_try)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port_to_try)};
    if (fetch_box_close() < 0)
        return 98;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return 97;
    if (strcmp(what, "passwd") == 0)
        return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 ? 0 : 1;
    if (strcmp(what, "write") == 0)
        return open("/tmp/cella-fetch", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0 ? 0 : 1;
    if (strcmp(what, "fork") == 0)
        return fork() < 0 ? 0 : 1;
    if (strcmp(what, "shell") == 0)
        return execl("/bin/sh", "sh", "-c", "exit 1", NULL) < 0 ? 0 : 1;
    if (strcmp(what, "unix") == 0)
        return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 ? 0 : 1;
    if (strcmp(what, "bind") == 0)
        return bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 && errno == EPERM ? 0 : 1;
    if (fetch_box_disconnect() < 0)
        return 96;
    if (strcmp(what, "connect") == 0) {
        struct sockaddr_in peer;
        socklen_t len = sizeof(peer);
        connect(fd, (struct sockaddr *)&address, sizeof(address));
        return poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, 100) == 1 &&
                       getpeername(fd, (struct sockaddr *)&peer, &len) < 0 && errno == ENOTCONN
                   ? 0
                   : 1;
    }
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 ? 0 : 1;
}

static void walls_hold(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
        char to_try[8];
        snprintf(to_try, sizeof(to_try), "%u", port);
        pid_t pid = fork();
        if (pid == 0) {
            execl("/proc/self/exe", "test", "walls", tries[i], to_try, NULL);
            _exit(99);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("%s was possible: status %x", tries[i], (unsigned)status);
    }
}

int main(int argc, char **argv)
{
    int status = explore_boxes_main(argc - 1, argv + 1);
    if (status >= 0)
        return status;
    if (argc == 4)
        _exit(try_walls(argv[2], strtol(argv[3], NULL, 10)));
    setenv("CELLA_TEST_TIME_SCALE", "0.2", 1);
    setenv("http_proxy", "http://127.0.0.1:1", 1); /* which nobody asks */
    start_server();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages_become_text, setup, teardown),
        cmocka_unit_test_setup_teardown(texts_are_cut_and_bytes_go_into_a_file, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_listed_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(names_of_private_addresses_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(addresses_of_ipv6_are_fetched_from, setup, teardown),
        cmocka_unit_test_setup_teardown(redirections_are_checked_as_the_first_was, setup, teardown),
        cmocka_unit_test_setup_teardown(servers_that_misbehave_are_told_of, setup, teardown),
        cmocka_unit_test(addresses_are_told_apart),
        cmocka_unit_test(html_is_read_whatever_it_is),
        cmocka_unit_test(walls_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
