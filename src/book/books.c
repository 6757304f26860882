#include "book/book.h"

int books_new(struct engine *engine, const struct books_config *config, uv_loop_t *loop,
              struct books **ret_books, struct err *e)
{
    (void)engine, (void)config, (void)loop, (void)ret_books;
    return err_set(e, ERR_UNAVAILABLE, "notebooks are not recorded");
}

void books_reconfigure(struct books *books, const struct books_config *config)
{
    (void)books, (void)config;
}

void books_free(struct books *books)
{
    (void)books;
}

void book_forget(struct book_call *call)
{
    (void)call;
}

void book_flush(struct books *books, const char *id)
{
    (void)books, (void)id;
}

bool book_is_cell_id(const char *id, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", id[i]) ==
                NULL ||
            id[i] == '\0')
            return false;
    return len > 0 && len <= BOOK_CELL_ID_MAX;
}

void book_put_cell(struct json_out *json, const char *notebook, const struct store_cell *cell,
                   bool with_outputs)
{
    (void)json, (void)notebook, (void)cell, (void)with_outputs;
}

void book_put_notebook(struct json_out *json, const struct store_notebook *notebook,
                       const struct session *session)
{
    (void)json, (void)notebook, (void)session;
}

struct book_call *book_change(struct books *books, const char *id,
                              const struct store_change *change, book_changed_fn fn, void *context)
{
    (void)books, (void)id, (void)change, (void)fn, (void)context;
    return NULL;
}

struct book_call *book_describe(struct books *books, const char *id, const char *title,
                                const char *metadata, store_done_fn fn, void *context)
{
    (void)books, (void)id, (void)title, (void)metadata, (void)fn, (void)context;
    return NULL;
}

struct book_call *book_delete(struct books *books, const char *id, store_done_fn fn, void *context)
{
    (void)books, (void)id, (void)fn, (void)context;
    return NULL;
}

struct book_call *book_run(struct books *books, const char *id, const char *cell,
                           const struct exec_request *request, book_run_fn fn, void *context)
{
    (void)books, (void)id, (void)cell, (void)request, (void)fn, (void)context;
    return NULL;
}

struct book_call *book_run_range(struct books *books, const char *id,
                                 const struct book_range *range,
                                 const struct book_range_listener *listener, void *context)
{
    (void)books, (void)id, (void)range, (void)listener, (void)context;
    return NULL;
}

struct book_watcher *book_watch(struct books *books, const char *id, book_event_fn fn,
                                void *context, struct err *e)
{
    (void)books, (void)id, (void)fn, (void)context;
    err_set(e, ERR_UNAVAILABLE, "notebooks are not recorded");
    return NULL;
}

void book_unwatch(struct book_watcher *watcher)
{
    (void)watcher;
}

struct book_call *book_document(struct books *books, const char *id, book_document_fn fn,
                                void *context)
{
    (void)books, (void)id, (void)fn, (void)context;
    return NULL;
}

struct book_call *book_import(struct books *books, const struct document *doc, const char *spec,
                              const char *user, book_imported_fn fn, void *context)
{
    (void)books, (void)doc, (void)spec, (void)user, (void)fn, (void)context;
    return NULL;
}
