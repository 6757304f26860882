/* Making a PNG or JPEG smaller, by the average of the pixels that one of the result covers. This is
 * where libpng and libjpeg read what a stranger wrote: called in a box only (box.c), and by tests
 * and the fuzzer. */
#pragma once

#include "base/base.h"

#include <sys/types.h>

/* Also the exit status of a box. */
enum scale_end {
    SCALE_DONE = 0,
    SCALE_DAMAGED = 10,   /* neither PNG nor JPEG, or not a whole one */
    SCALE_TOO_LARGE = 11, /* too many pixels */
    SCALE_NO_MEMORY = 12,
    SCALE_UNWRITTEN = 13, /* the result was not taken */
    SCALE_UNREAD = 14,    /* the picture could not be read */
    SCALE_NO_WALLS = 15,  /* of a box: it could not be closed, nothing was read */
    SCALE_MISUSED = 16,   /* of a box: by its arguments */
};

struct scale_io {
    ssize_t (*read)(void *context, void *data, size_t len);    /* bytes; 0: the end; -errno */
    int (*write)(void *context, const void *data, size_t len); /* all of it; 0 or -errno */
    void *context;
};

struct scale_limits {
    uint32_t max_width, max_height; /* of the result; 0: as the picture has it */
    uint64_t max_pixels;            /* of the picture */
    bool makes_sixels;              /* for a terminal, instead of a picture of the same format */
    bool ignores_checksums;         /* of PNG; for the fuzzer, which would never get past them */
};

/* What is written is of the same format, or sixels. */
enum scale_end scale_picture(const struct scale_io *io, const struct scale_limits *limits);
