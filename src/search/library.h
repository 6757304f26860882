/* The daemon's side of indexes: each has a folder, a process while it is used, and a queue, because
 * a question first brings the index up to date. What a file is made of comes out of the store of
 * blobs, by the list of files that the question brings; or the process reads a folder itself. */
#pragma once

#include "base/err.h"
#include "blob/blob.h"
#include "search/search.h"

#include <jansson.h>

typedef struct uv_loop_s uv_loop_t;

struct search_library;
struct search_order;

struct search_place {
    int blobs;          /* borrowed; the store of what lists name */
    int parent;         /* the descriptor of a folder of indexes, */
    const char *name;   /* and that of this one in it; made if need be */
    const char *corpus; /* NULL, or the folder that it is about, absolute */
};

/* NULL, with the error, if there is no such folder. */
struct search_library *search_library_new(uv_loop_t *loop, const struct search_place *place,
                                          struct err *e);
/* Ends the process; nobody is called back. Takes NULL. */
void search_library_free(struct search_library *l);
bool search_is_idle(const struct search_library *l); /* nobody asks it anything */
/* Removes an index; all that are in the folder. */
void search_remove(int parent, const char *name);
void search_remove_all(int parent);
/* A folder of indexes; made if need be. A descriptor, or -errno. */
int search_open_folder(int parent, const char *name);

struct search_question {
    const char *list; /* the hash of the manifest; NULL if the library is about a corpus */
    const char *kind; /* "code" or "doc" */
    const char *query;
    uint64_t limit;
    bool words_only;
};

/* The result as box.c has it, borrowed; NULL on error. */
typedef void (*search_fn)(void *context, json_t *result, const struct err *e);

/* The callback comes later from the loop. NULL if too many questions wait. */
struct search_order *search_ask(struct search_library *l, const struct search_question *question,
                                search_fn fn, void *context, struct err *e);
/* The callback will not come. Legal until it was called; takes NULL. */
void search_forget(struct search_order *o);
