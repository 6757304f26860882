/* search: code and documents found by what they say. Promises: no byte of a searched file is looked
 * at in the daemon; each index has a process of its own, which can write one folder and read
 * nothing else (but the files of a corpus, if it is the index of one), and is killed when it takes
 * too long. What it answers is checked as if an enemy had written it. An index can be removed at
 * any time: it is made again. Owns DATA/search. May call explore, jail's manifests, loop, wire,
 * blob and base.
 *
 *   library.[ch]  the daemon's side: an index, its questions, one after the other
 *   corpora.[ch]  indexes of configured folders
 *   encoder.[ch]  commands and servers that make vectors; settings.[ch]: which
 *   box.c         the process: walls first, then requests (explore/worker.h)
 *   index.[ch]    in the process: files, units and words in SQLite, and who is ranked where
 *   matrix.[ch]   vectors out of their answers; maxsim.[ch]: how near texts are by them
 *   split.[ch]    a file as units; split_indent.c, split_braces.c, split_headings.c
 *   words.[ch]    a text as words that are looked for */
#pragma once

#include "base/base.h"

enum {
    SEARCH_RESULTS_MAX = 20,
    SEARCH_RESULTS = 5,       /* of a question that says no number */
    SEARCH_QUERY_MAX = 1000,  /* bytes */
    SEARCH_FILES_MAX = 20000, /* of an index; others are skipped, and counted */
    SEARCH_BATCH_FILES = 48,  /* that a process reads at a time */
    SEARCH_STEP_MS = 20000,   /* of one request to the process */
    SEARCH_LIMIT_MS = 120000, /* of a question, with all that has to be read for it */
    SEARCH_ENCODE_MS = 20000, /* of a question, in which vectors of files are made */
    SEARCH_QUEUE_MAX = 16,    /* questions of an index that wait */
    SEARCH_IDLE_MS = 120000,  /* without questions, then the process ends */
};

#define SEARCH_FILE_MAX (1 * MIB)               /* bytes; larger ones are skipped, and counted */
#define SEARCH_FILES_BYTES (512 * MIB)          /* of all files of an index; likewise */
#define SEARCH_INDEX_BYTES ((size_t)1024 * MIB) /* of its folder; then what follows is skipped */

/* Whoever has a main() that links this room and searches calls search_box_main if this is the only
 * argument. */
#define SEARCH_BOX_WORD "search-box"
int search_box_main(void); /* the exit status */
/* Descriptors of the box beside its socket: the folder of the index, and perhaps of the corpus. */
enum { SEARCH_FOLDER = 3, SEARCH_CORPUS = 4 };
