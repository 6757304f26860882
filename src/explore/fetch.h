/* Web pages, fetched by boxes: one for each step of a redirection. A box resolves the name, checks
 * every address, connects, and from then on has this one connection and can make no other; only
 * then it reads what the server sends. Where a redirection leads is checked in the daemon as the
 * first URL was. */
#pragma once

#include "explore/boxes.h"

enum {
    FETCH_CHARS = 10000,      /* of the text, unless told otherwise */
    FETCH_CHARS_MAX = 200000, /* likewise, at most */
    FETCH_REDIRECTS_MAX = 5,
    FETCH_DOMAINS_MAX = 1000,
};

#define FETCH_BYTES_MAX (10 * MIB) /* of the page, decompressed */

struct fetch_request {
    const char *url;
    const char *const *domains; /* that may be fetched from: fetch_url.h; none: nothing may be */
    size_t n_domains;
    size_t max_chars; /* 0: FETCH_CHARS */
    /* What is sent, as JSON: then it is a POST, and a redirection is an answer like others. NULL if
     * nothing. */
    const char *body;
    const json_t
        *headers; /* an array of "Name: value"; NULL if none. Checked by fetch_header_is_fit */
    int to;       /* -1, or an empty file for the bytes as they came; closed in any case */
};

/* The result is {"url","status","content_type","title","text","chars","is_cut"}: where it was found
 * at last, the text of the page as UTF-8, and how many characters it has in all. If `to` is given:
 * {"url","status","content_type","bytes"}. An answer of a server is a result whatever its status.
 */
struct explore_job *fetch_page(struct explore_boxes *boxes, const struct fetch_request *request,
                               explore_answer_fn fn, void *context, struct err *e);

#define FETCH_BOX_WORD "fetch-box"
int fetch_box_main(void);
int fetch_box_close(void);      /* before the request is read; 0 or -errno */
int fetch_box_disconnect(void); /* no other connection from now on; 0 or -errno */
