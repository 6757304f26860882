/* Archives that sessions hold: listed, searched, members read, without unpacking them anywhere. All
 * of it is done by a box (archive_box.c), which gets the archive as a descriptor; names of members
 * are shown and compared and are never a path of anything.
 *
 * A member of an archive inside an archive is written "inner.zip!/notes.txt". */
#pragma once

#include "explore/boxes.h"

enum {
    ARCHIVE_FILES_MAX = 1000, /* and four times as many entries, folders included */
    ARCHIVE_RATIO_MAX = 100,  /* bytes unpacked for each byte of the archive, after the first MiB */
    ARCHIVE_DEPTH_MAX = 2,    /* an archive, and archives inside it */
    ARCHIVE_HITS_MAX = 50,    /* of a search */
    ARCHIVE_MATCH_CHARS = 200, /* of a line that is shown */
    ARCHIVE_QUERY_MAX = 1000,  /* bytes */
    ARCHIVE_NAME_MAX = 4095,   /* bytes */
};

#define ARCHIVE_BYTES_MAX ((uint64_t)500 * MIB)
#define ARCHIVE_UNPACKED_MAX ((uint64_t)1024 * MIB) /* of one request, at all depths */
#define ARCHIVE_MEMBER_MAX ((uint64_t)100 * MIB)

/* `fd` is a regular file and is closed here in any case, as is `to`. Results:
 *
 * list    {"format":"tar.gz","files":[{"name","size","type","target","note"}],"total":n}; types are
 *         file, folder, link and other; target is a link's; note says why a member is not unpacked;
 *         size is left out where the archive does not say it
 * read    {"bytes":n,"is_cut":bool}; the bytes are in `to`, a pipe or an empty file
 * search  {"hits":[{"file","line","match"}],"is_cut":bool,"files_searched":n,
 *         "skipped":[{"name","note"}]}; text members only, those of archives inside too
 * unpack  {"files":n,"bytes":n,"left_out":[{"name","note"}]}; `to` becomes a tar of all regular
 *         files and folders whose names stay inside of where it is unpacked */
struct explore_job *archive_list(struct explore_boxes *boxes, int fd, const char *inside,
                                 explore_answer_fn fn, void *context, struct err *e);
/* At most max_bytes (0: ARCHIVE_MEMBER_MAX, and more is an error). */
struct explore_job *archive_read(struct explore_boxes *boxes, int fd, const char *member,
                                 uint64_t max_bytes, int to, explore_answer_fn fn, void *context,
                                 struct err *e);
/* Letters of ASCII match in either case. max_results: ARCHIVE_HITS_MAX at most, and if it is 0. */
struct explore_job *archive_search(struct explore_boxes *boxes, int fd, const char *query,
                                   size_t max_results, explore_answer_fn fn, void *context,
                                   struct err *e);
/* `inside`: NULL, or the name of an archive inside, as of archive_list. */
struct explore_job *archive_unpack(struct explore_boxes *boxes, int fd, const char *inside, int to,
                                   explore_answer_fn fn, void *context, struct err *e);

#define ARCHIVE_BOX_WORD "archive-box"
int archive_box_main(void);
int archive_box_close(void); /* 0 or -errno */
