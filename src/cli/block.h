/* Is what was typed a whole piece of Python? The interpreter is far away and has not seen it yet,
 * so this looks at brackets, strings, line ends and indentation only. It is never wrong in a way
 * that loses a line: at worst one empty line too many is asked for, or Python reports the error. */
#pragma once

#include "base/base.h"

enum cli_block {
    CLI_BLOCK_WHOLE, /* can run */
    CLI_BLOCK_OPEN,  /* inside brackets, a triple-quoted string or behind a backslash */
    CLI_BLOCK_SUITE, /* an indented part that an empty line ends */
};

enum cli_block cli_block_look(const char *text, size_t len);

/* For input that comes without empty lines behind its suites: whether `line`, read behind `text`,
 * begins something new ("x = 1" does; "else:", a comment or a decorator's def do not). */
bool cli_block_ends_before(const char *text, size_t len, const char *line, size_t line_len);
