/* The daemon's side of web pages: what may be asked for, at first and after each redirection. */
#include "explore/fetch.h"

#include "explore/fetch_url.h"

#include <string.h>

static int fetch_check(const json_t *domains, const char *url, struct err *e)
{
    struct fetch_url parsed;
    if (fetch_url_parse(url, &parsed, e) < 0)
        return -1;
    return fetch_check_host(domains, &parsed, e);
}

/* A redirection is another request. */
static int fetch_conclude(const struct explore_outcome *outcome, json_t **ret, struct err *e)
{
    json_t *report = NULL;
    if (explore_read_report(outcome, &report, e) < 0)
        return -1;
    const char *to = json_string_value(json_object_get(report, "redirect"));
    if (to == NULL) {
        *ret = report;
        return 0;
    }
    const json_t *domains = json_object_get(outcome->request, "domains");
    json_int_t steps = json_integer_value(json_object_get(outcome->request, "steps")) + 1;
    int done = -1;
    if (steps > FETCH_REDIRECTS_MAX) {
        err_set(e, ERR_UPSTREAM, "the page leads on to others more than %d times",
                FETCH_REDIRECTS_MAX);
        err_advise(e, "Ask for the page that it should end at.");
    } else if (fetch_check(domains, to, e) < 0) {
        err_context(e, "the page leads to another");
    } else {
        *ret = json_copy((json_t *)(uintptr_t)outcome->request);
        json_object_set_new(*ret, "url", json_string(to));
        json_object_set_new(*ret, "steps", json_integer(steps));
        done = 1;
    }
    if (done > 0 && json_object_get(*ret, "headers") != NULL)
        json_object_del(*ret, "headers"); /* they were for the first server */
    json_decref(report);
    return done;
}

static const struct explore_kind fetch_kind = {
    .word = FETCH_BOX_WORD,
    .subject = "the page",
    .late = "The server is slow, or its page never ends. Ask again, or for another page.",
    .killed = "Its server sends what it should not. Nothing else was touched.",
    .walls = "seccomp and Landlock (Linux 5.13)",
    .install = "Install libcurl (Debian: libcurl4).",
    .large = "the page has more than 10 MiB",
    .conclude = fetch_conclude,
    .fetches = true,
};

static json_t *fetch_domains(const struct fetch_request *request, struct err *e)
{
    json_t *domains = json_array();
    for (size_t i = 0; i < MIN(request->n_domains, (size_t)FETCH_DOMAINS_MAX); i++)
        if (fetch_entry_is_valid(request->domains[i]))
            json_array_append_new(domains, json_string(request->domains[i]));
    if (json_array_size(domains) > 0)
        return domains;
    err_set(e, ERR_FORBIDDEN, "web pages may not be fetched: no domain is listed");
    err_advise(e, "List domains in the configuration, for this agent: `explore: {web_domains: "
                  "[docs.example.org, \"*.example.com\"]}`.");
    json_decref(domains);
    return NULL;
}

struct explore_job *fetch_page(struct explore_boxes *boxes, const struct fetch_request *request,
                               explore_answer_fn fn, void *context, struct err *e)
{
    size_t max_chars = request->max_chars == 0 ? FETCH_CHARS : request->max_chars;
    struct explore_order order = {
        .kind = &fetch_kind, .in = -1, .to = request->to, .fn = fn, .context = context};
    json_t *domains = fetch_domains(request, e);
    if (domains == NULL || fetch_check(domains, request->url, e) < 0) {
        json_decref(domains);
        cleanup_fd(&order.to);
        return NULL;
    }
    order.request = json_pack("{s:s,s:o,s:I,s:I,s:b}", "url", request->url, "domains", domains,
                              "max_chars", (json_int_t)MIN(max_chars, (size_t)FETCH_CHARS_MAX),
                              "steps", (json_int_t)0, "is_raw", request->to >= 0);
    if (request->body != NULL)
        json_object_set_new(order.request, "body", json_string(request->body));
    if (request->headers != NULL)
        json_object_set(order.request, "headers", (json_t *)(uintptr_t)request->headers);
    return explore_order(boxes, &order, e);
}
