/* Pictures in a terminal, where it can show them: by the protocols of kitty and iTerm2, or as
 * sixels. Nothing of a picture is decoded in this program; what is, is by a process in a box. */
#pragma once

#include "base/buf.h"

enum cli_picture_way {
    CLI_PICTURE_NONE,
    CLI_PICTURE_KITTY,
    CLI_PICTURE_ITERM,
    CLI_PICTURE_SIXEL,
};

/* What the environment says of the terminal. */
enum cli_picture_way cli_picture_by_environment(void);
/* What the terminal on stdin and stdout says of itself: sixels, or nothing. Every terminal since
 * the VT100 answers; one that does not costs a moment. False: something was typed already, which
 * the question would eat; `ret` is not set. */
bool cli_picture_by_asking(enum cli_picture_way *ret);

/* Appends what draws the picture, with a line end behind it. `format` is "png", "jpeg"... False if
 * the terminal cannot show it: then nothing is appended. */
bool cli_picture_append(struct buf *out, enum cli_picture_way way, const char *format,
                        const void *bytes, size_t len);
