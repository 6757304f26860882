/* The other side of boxes.c: a process that decodes one picture. It was started by exec, so nothing
 * of the daemon is in its memory; it reads descriptor 0, writes descriptor 1, and before the first
 * byte is read it has given up all the rest. */
#include "image/image.h"
#include "image/scale.h"
#include "loop/walls.h"

#include <errno.h>
#include <seccomp.h>
#include <string.h>

#define BOX_MEMORY (384 * MIB) /* addresses, the program and its libraries included */

int image_box_close(void)
{
    static const struct walls_limits limits = {.seconds = IMAGE_BOX_MS / 1000 + 1,
                                               .memory = BOX_MEMORY,
                                               .file_bytes = IMAGE_RESULT_MAX,
                                               .n_fds = STDERR_FILENO + 1};
    int error = walls_limit(&limits);
    if (error < 0)
        return error;
    struct walls_filter filter = walls_filter(false);
    walls_allow_on(&filter, SCMP_SYS(read), STDIN_FILENO);
    walls_allow_on(&filter, SCMP_SYS(write), STDOUT_FILENO);
    walls_allow_memory(&filter);
    return walls_load(&filter);
}

/* ---- the work -------------------------------------------------------------------------------- */

static ssize_t box_read(void *context, void *data, size_t len)
{
    (void)context;
    ssize_t n = read(STDIN_FILENO, data, len);
    return n < 0 ? -errno : n;
}

static int box_write(void *context, const void *data, size_t len)
{
    (void)context;
    for (const char *at = data; len > 0;) {
        ssize_t n = write(STDOUT_FILENO, at, len);
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

static bool parse_side(const char *text, uint32_t *ret)
{
    char *end;
    unsigned long side = strtoul(text, &end, 10);
    *ret = (uint32_t)side;
    return *text != '\0' && *end == '\0' && side <= IMAGE_SIDE_MAX;
}

int image_box_main(int argc, char **argv)
{
    struct scale_limits limits = {.max_pixels = IMAGE_PIXELS_MAX};
    const struct scale_io io = {.read = box_read, .write = box_write};
    if (argc < 2 || argc > 3 || !parse_side(argv[0], &limits.max_width) ||
        !parse_side(argv[1], &limits.max_height) ||
        (argc == 3 && strcmp(argv[2], IMAGE_BOX_SIXELS) != 0))
        return SCALE_MISUSED;
    limits.makes_sixels = argc == 3;
    if (image_box_close() < 0)
        return SCALE_NO_WALLS;
    /* At once: what others left to be done at the end of the program is not allowed here. */
    _exit((int)scale_picture(&io, &limits));
}
