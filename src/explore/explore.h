/* explore: large texts that agents look into without reading them: opened, peeked at by characters,
 * searched. Promises: no byte of such a text is looked at in the daemon; a process of its own, one
 * for each session that explores, has the texts mapped, can do nothing but read them and answer,
 * and is killed when it takes too long. What it answers is checked as if an enemy had written it.
 * Owns those processes. May call wire, loop, blob and base.
 *
 *   worker.[ch]   the daemon's side: a queue of requests, one process
 *   box.c         the process: walls first, then requests from descriptor 0
 *   desk.[ch]     in the process: the texts that it holds, and an answer to each request
 *   text.[ch]     one text by characters and lines
 *   grep.[ch]     the search; pattern.[ch] is what can be known of a pattern before
 *   crew.[ch]     threads that share a large piece of work; scan.[ch] is what they do to bytes
 *
 * What a session has explored is kept by the daemon, as values:
 *
 *   research.[ch]  the tree of calls; research_read.c, research_refs.c and research_render.c
 *   log.[ch]       calls and tokens, counted
 *   state.[ch]     the text of get_state()
 *   embed.[ch]     what a text is about, as a vector
 *   chars.[ch]     characters of what is shown in part
 *
 * Archives, PDFs and web pages are read by boxes that do one piece of work and end (boxes.[ch]):
 *   archive.[ch]  asks for it; archive_box.c is the process, archive_walk.[ch] the work
 *   pdf.[ch]      likewise; pdf_box.c becomes pdftotext
 *   fetch.[ch]    likewise; fetch_box.c, fetch_url.[ch]: whom it may ask; page.[ch], html.[ch]: its
 * text */
#pragma once

#include "base/base.h"

enum {
    EXPLORE_SOURCES_MAX = 64,   /* mapped at a time; the least recently used goes */
    EXPLORE_QUEUE_MAX = 16,     /* requests of a worker; more are refused with ERR_LIMIT */
    EXPLORE_IDLE_MS = 60000,    /* without requests, then the process ends */
    EXPLORE_HITS_MAX = 10000,   /* of one grep */
    EXPLORE_CONTEXT_MAX = 50,   /* lines before and after a hit */
    EXPLORE_LINE_CHARS = 500,   /* of a line that is shown */
    EXPLORE_CHUNKS_MAX = 10000, /* of one text */
    EXPLORE_THREADS_MAX = 16,   /* of one process, itself included */
};

#define EXPLORE_ANSWER_MAX (1 * MIB)    /* bytes of one answer */
#define EXPLORE_PATTERN_MAX (64 * KIB)  /* bytes */
#define EXPLORE_REQUEST_MAX (512 * KIB) /* bytes as JSON */

/* The program runs itself again with this as its first argument: whoever has a main() that links
 * this room and explores calls explore_box_main. */
#define EXPLORE_BOX_WORD "explore-box"
int explore_box_main(void); /* the exit status */
/* Closes the box: from now on this process can do next to nothing. 0 or -errno. */
int explore_box_close(void);

/* How a box ends by itself. */
enum { EXPLORE_END_DONE = 0, EXPLORE_END_NO_WALLS = 15, EXPLORE_END_MISUSED = 16 };
