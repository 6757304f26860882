/* An index: files and their units in one SQLite file, words of them in FTS5. In a box; one process
 * has it open. Which files there are is told by a list (jail/files/manifest.h) or found in a
 * folder; what is not as it was is read again, what is gone is gone. A unit that is gone stays in
 * the words until there are too many of them, and is never told. A damaged or older index is made
 * anew. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "search/search.h"
#include "search/split.h"

#include <jansson.h>

struct json_out;
struct search_index;

/* The path is used as it is: it may be closed to whoever follows it from the root. */
struct search_index *index_open(const char *path, struct err *e);
/* Of what there is from now on. */
struct index_counts {
    uint64_t files, units;
    uint64_t too_large, binary, beyond, unreadable; /* files that are skipped, and why */
};

/* The files of a list, as manifest_parse takes it: those that are not in it are removed. The first
 * files that have to be read are told by index_needs. */
int index_list(struct search_index *x, const char *list, size_t len, struct err *e);
/* Writes {"need":[hash…],"left":n}: at most SEARCH_BATCH_FILES; 0 if there are none. */
void index_needs(const struct search_index *x, struct json_out *o);
/* One of those; `data` is NULL if it cannot be read. */
int index_take(struct search_index *x, const char *hash, const char *data, size_t len,
               struct err *e);
/* What was taken is kept. */
int index_commit(struct search_index *x, struct err *e);

/* The files of a folder, as they are now; as much of it as can be done in some seconds. False in
 * *ret_is_done: call it again. */
int index_walk(struct search_index *x, int folder, bool *ret_is_done, struct err *e);

/* Which encoder the units have vectors of; "": none. An index of another one is made anew. */
int index_expect(struct search_index *x, const char *label, struct err *e);
/* Writes {"units":[id…],"texts":[…],"pending":n}: at most so many that have no vectors yet. */
int index_unencoded(struct search_index *x, size_t most, struct json_out *o, struct err *e);
/* The matrices of these units, as the encoder answered (matrix.h). */
int index_encoded(struct search_index *x, const int64_t *units, size_t n, const char *answer,
                  size_t len, struct err *e);

struct index_question {
    enum split_kind kind;
    const char *query;
    size_t len, limit;
    bool words_only;    /* without vectors */
    const char *answer; /* the encoder's, for the question; NULL if there is none */
    size_t answer_len;
};

/* Writes {"results":[…],"files","units","skipped"?}. */
int index_search(struct search_index *x, const struct index_question *q, struct json_out *o,
                 struct err *e);
