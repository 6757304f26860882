/* HTTP/1.1 as a server reads and writes it: llhttp in its strict mode, with the head's line ends
 * checked before llhttp sees them, so that no two readers can disagree where a request ends. And
 * answers of servers that run a stranger's code, read as strictly, for a daemon that passes them
 * on. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <llhttp.h>

#define HTTP1_HEAD_MAX (32 * KIB)  /* request line and headers, as sent */
#define HTTP1_TARGET_MAX (8 * KIB) /* of the request line */
#define HTTP1_BODY_MAX (16 * MIB)  /* decoded; unless http1_limit_body says otherwise */
#define HTTP1_BODY_LARGE_MAX (128 * MIB)
#define HTTP1_PIECE_MAX (256 * KIB)
enum { HTTP1_HEADERS_MAX = 100 };

/* A run of bytes in the parser's head; followed by a NUL that is not counted. */
struct http1_span {
    uint32_t at;
    uint32_t len;
};

struct http1_header {
    struct http1_span name;
    struct http1_span value;
};

enum http1_state {
    HTTP1_IN_HEAD,
    HTTP1_IN_BODY,
    HTTP1_COMPLETE, /* until http1_next */
    HTTP1_REFUSED,  /* for good: where the next request begins is unknown */
};

/* One request, or one answer, at a time. */
struct http1_parser {
    llhttp_t llhttp;
    enum http1_state state;
    bool is_answer;   /* not a request */
    bool is_for_head; /* an answer to a HEAD: it has no body, whatever it announces */
    struct buf head;  /* target, then names and values */
    struct buf body;
    struct http1_span target;
    struct http1_header headers[HTTP1_HEADERS_MAX];
    size_t n_headers;
    bool has_name; /* the last header's name is complete */

    size_t head_bytes; /* as sent, line ends included */
    size_t line_bytes; /* of the current line */
    size_t lines;
    char last_byte;
    uint64_t body_wire_bytes; /* as sent, chunk framing included */
    uint64_t body_announced;  /* by Content-Length */
    bool is_streamed;         /* the body is taken out piece by piece: see http1_stream_body */

    /* Valid from HTTP1_HEAD on. */
    bool is_keep_alive;
    bool is_http_1_1;
    bool has_body;
    bool expects_continue;

    int refusal; /* the HTTP status; error says why */
    struct err error;
};

enum http1_result {
    HTTP1_MORE, /* all was used, the request is not complete */
    HTTP1_HEAD, /* once: the head is complete; call again with the rest, even if that is empty */
    HTTP1_DONE, /* the request is complete; the rest belongs to the next one */
    HTTP1_BAD,  /* answer with `refusal` and `error`, then close */
};

void http1_init(struct http1_parser *p);
void http1_free(struct http1_parser *p);
void http1_next(struct http1_parser *p); /* ready for another request */

/* Reads from `data`; `ret_used` says how much. */
enum http1_result http1_feed(struct http1_parser *p, const char *data, size_t len,
                             size_t *ret_used);

/* After HTTP1_HEAD, when it is known what the body is for. -1: it announces more than `max` (0:
 * it announces one at all); then `refusal` and `error` are set. */
int http1_limit_body(struct http1_parser *p, size_t max);

/* Instead: there is no limit, and whoever feeds takes the bytes out of `body` after each piece of
 * at most HTTP1_PIECE_MAX bytes. */
void http1_stream_body(struct http1_parser *p);
int64_t http1_body_bytes(const struct http1_parser *p); /* as announced; -1: it is not */

/* An answer, whose body is streamed. HTTP1_BAD then has the status 502. */
void http1_init_answer(struct http1_parser *p, bool is_for_head);
int http1_status(const struct http1_parser *p);      /* of an answer */
bool http1_has_length(const struct http1_parser *p); /* it announces how long its body is */
/* No more bytes will come: HTTP1_DONE if an answer may end there, else HTTP1_BAD. */
enum http1_result http1_finish(struct http1_parser *p);
/* Whether the value of a header that is a list, of all headers of that name, has this word. */
bool http1_lists(const struct http1_parser *p, const char *name, const char *word);

/* True if not a byte of a request has been read. */
bool http1_is_untouched(const struct http1_parser *p);

const char *http1_method(const struct http1_parser *p);
const char *http1_target(const struct http1_parser *p); /* NUL-terminated, holds no NUL */

/* The value without surrounding blanks, NUL-terminated, or NULL if there is no such header; the
 * first if there are several. `name` is in lower case. */
const char *http1_header(const struct http1_parser *p, const char *name, size_t *ret_len);

enum { HTTP1_LENGTH_CHUNKED = -1, HTTP1_LENGTH_UNTIL_CLOSE = -2 };

struct http1_response {
    int status;
    const char *content_type;
    int64_t content_length; /* bytes or one of the above */
    bool is_keep_alive;
    const char *challenge; /* WWW-Authenticate; NULL to leave out */
    const char *allow;     /* the methods of this path; NULL to leave out */
    const char *file_name; /* to be saved under this name; NULL if the body is no file */
    const char *tag;       /* in quotes, of a file that may be shown and cached; else NULL */
    const char *version;   /* in quotes, of a file that may be fetched in parts; else NULL */
    bool is_part;          /* `content_length` bytes from `first` on, of `total` */
    int64_t first, total;  /* `total` also with the status 416 */
    const char *origin;    /* of a page that may read this; NULL if none may */
    const char *more;      /* other headers, each with its line end; NULL if none */
};

void http1_write_status(struct buf *out, int status); /* the first line */
void http1_write_head(struct buf *out, const struct http1_response *response);

#define HTTP1_CONTINUE "HTTP/1.1 100 Continue\r\n\r\n"
