/* Is what was typed a whole piece of code? The interpreter is far away and has not seen it yet, so
 * this looks at brackets, quotes, line ends and the words that open something, and for Python at
 * indentation. It is never wrong in a way that loses a line: at worst one more is asked for, or the
 * interpreter reports the error. */
#pragma once

#include "base/base.h"

enum cli_block {
    CLI_BLOCK_WHOLE, /* can run */
    CLI_BLOCK_OPEN,  /* inside brackets, quotes or a compound command, or behind a backslash */
    CLI_BLOCK_SUITE, /* an indented part that an empty line ends */
};

enum cli_block cli_block_python(const char *text, size_t len);
enum cli_block cli_block_node(const char *text, size_t len);
enum cli_block cli_block_bash(const char *text, size_t len);

/* For input that comes without empty lines behind its suites: whether `line`, read behind `text`,
 * begins something new ("x = 1" does; "else:", a comment or a decorator's def do not). */
bool cli_block_python_ends_before(const char *text, size_t len, const char *line, size_t line_len);
