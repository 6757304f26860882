#include "book/state.h"

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
