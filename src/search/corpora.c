/* Indexes of configured folders, in the daemon, on the loop: each is opened at its first question.
 * Owns them. */
#include "search/corpora.h"

#include "search/settings.h"

#include <string.h>

struct corpus {
    char name[SEARCH_CORPUS_NAME_MAX + 1], *path;
    struct search_library *library;
};

static uv_loop_t *corpora_loop;
static int corpora_folder = -1;
static struct corpus corpora[SEARCH_CORPORA_MAX];

static void corpora_close(struct corpus *c)
{
    search_library_free(take_ptr(c->library));
    free(take_ptr(c->path));
    c->name[0] = '\0';
}

void corpora_use(uv_loop_t *loop, int folder)
{
    corpora_loop = loop;
    corpora_folder = folder;
}

void corpora_stop(void)
{
    for (size_t i = 0; i < ARRAY_LEN(corpora); i++)
        corpora_close(&corpora[i]);
}

static int corpora_open(struct corpus *c, const char *name, const char *path, struct err *e)
{
    struct search_place place = {
        .blobs = -1, .parent = corpora_folder, .name = name, .corpus = path};
    c->library = search_library_new(corpora_loop, &place, e);
    if (c->library == NULL)
        return -1;
    snprintf(c->name, sizeof(c->name), "%s", name);
    c->path = mem_strdup(path);
    return 0;
}

/* One that the configuration has moved, or does not name any more, gives its place up once nobody
 * asks it. */
struct search_library *corpora_find(const char *name, struct err *e)
{
    const char *path = search_corpus_path(name);
    struct corpus *place = NULL;
    for (size_t i = 0; i < ARRAY_LEN(corpora); i++) {
        struct corpus *c = &corpora[i];
        const char *now = c->library != NULL ? search_corpus_path(c->name) : NULL;
        bool is_old = c->library != NULL && (now == NULL || strcmp(now, c->path) != 0);
        if (is_old && search_is_idle(c->library))
            corpora_close(c);
        if (c->library != NULL && path != NULL && strcmp(c->name, name) == 0)
            return c->library;
        if (c->library == NULL && place == NULL)
            place = c;
    }
    if (path == NULL || corpora_folder < 0) {
        err_set(e, ERR_NOT_FOUND, "there is no corpus \"%.64s\"", name);
        err_advise(e, "Name one of search.corpora in the configuration.");
        return NULL;
    }
    if (place == NULL) {
        err_set(e, ERR_LIMIT, "%d corpora are being searched", SEARCH_CORPORA_MAX);
        err_advise(e, "Ask again in a moment.");
        return NULL;
    }
    return corpora_open(place, name, path, e) == 0 ? place->library : NULL;
}
