/* Reads `search`. Daemon and command line tool; what it makes lies in the configuration's arena. */
#include "policy/config_search.h"

#include "explore/fetch_url.h"
#include "policy/config_toolbox.h"

#include <string.h>

/* ---- an encoder ------------------------------------------------------------------------------ */

static const struct reader_field search_encoder_fields[] = {
    {"command", config_toolbox_texts, offsetof(struct search_encoder_settings, command), 0, 0},
    {"http", config_toolbox_text, offsetof(struct search_encoder_settings, http), 0, FETCH_URL_MAX},
    {"openai", config_toolbox_text, offsetof(struct search_encoder_settings, openai), 0,
     FETCH_URL_MAX},
    {"model", config_toolbox_text, offsetof(struct search_encoder_settings, model), 0, 200},
    {"headers", config_toolbox_texts, offsetof(struct search_encoder_settings, headers), 0, 0},
    {NULL, NULL, 0, 0, 0},
};

static int search_read_encoder(struct reader *r, const struct reader_field *f, void *object)
{
    struct err why;
    struct fetch_url ignored;
    struct search_encoder_settings *e = &((struct config *)object)->search.encoder;
    int line = reader_line(r);
    if (reader_mapping(r, f->name, search_encoder_fields, e) < 0)
        return -1;
    int n = (e->command != NULL && e->command[0] != NULL) + (e->http != NULL) + (e->openai != NULL);
    const char *url = e->http != NULL ? e->http : e->openai;
    if (n != 1 || (e->openai != NULL && e->model == NULL)) {
        reader_fail_at(r, line, "encoder needs a command, http, or openai and a model");
        return err_advise(r->e, "Write encoder: {command: [/path/to/program]}, {http: URL} of a "
                                "NextPLAID server's /encode, or {openai: URL, model: NAME}.");
    }
    if (url != NULL && fetch_url_parse(url, &ignored, &why) < 0)
        return reader_fail_at(r, line, "encoder: %.200s", why.message);
    return config_toolbox_check_headers(r, "encoder", e->headers, line);
}

/* ---- corpora --------------------------------------------------------------------------------- */

static const struct reader_field search_corpus_fields[] = {
    {"name", config_toolbox_text, offsetof(struct search_corpus, name), 0, SEARCH_CORPUS_NAME_MAX},
    {"path", config_toolbox_text, offsetof(struct search_corpus, path), 0, 4000},
    {NULL, NULL, 0, 0, 0},
};

static int search_read_corpus(struct reader *r, struct search_settings *settings)
{
    int line = reader_line(r);
    struct search_corpus corpus = {0};
    if (reader_mapping(r, "an item of corpora", search_corpus_fields, &corpus) < 0)
        return -1;
    if (corpus.name == NULL || !reader_is_name(corpus.name, strlen(corpus.name)) ||
        corpus.path == NULL || corpus.path[0] != '/') {
        reader_fail_at(r, line, "a corpus has no name, or no path that is absolute");
        return err_advise(r->e, "Write - {name: NAME, path: /path/to/folder}.");
    }
    for (size_t i = 0; i < settings->n_corpora; i++)
        if (strcmp(settings->corpora[i].name, corpus.name) == 0)
            return reader_fail_at(r, line, "the corpus \"%s\" is given twice", corpus.name);
    if (settings->n_corpora == SEARCH_CORPORA_MAX)
        return reader_fail_at(r, line, "there are more than %d corpora", SEARCH_CORPORA_MAX);
    settings->corpora[settings->n_corpora++] = corpus;
    return 0;
}

static int search_read_corpora(struct reader *r, const struct reader_field *f, void *object)
{
    struct search_settings *settings = &((struct config *)object)->search;
    int more;
    settings->corpora =
        arena_alloc(&r->config->arena, SEARCH_CORPORA_MAX * sizeof(*settings->corpora));
    if (reader_expect_list(r, f->name, "[{name: NAME, path: /path/to/folder}]") < 0)
        return -1;
    while ((more = reader_next_item(r)) > 0)
        if (search_read_corpus(r, settings) < 0)
            return -1;
    return more;
}

static const struct reader_field search_fields[] = {
    {"encoder", search_read_encoder, 0, 0, 0},
    {"corpora", search_read_corpora, 0, 0, 0},
    {NULL, NULL, 0, 0, 0},
};

int config_read_search(struct reader *r, const struct reader_field *f, void *object)
{
    return reader_mapping(r, f->name, search_fields, object);
}
