/* What the daemon tells the program that sits between a pseudo-terminal and its socket, in a
 * session's jail (inside/terminal_main.c): messages of a type, a length and that many bytes. Back
 * comes what the terminal shows, as it is. */
#pragma once

#include <stdint.h>

enum terminal_message_type {
    TERMINAL_OPEN = 'o',   /* first: a struct terminal_size, then texts with a NUL after each: the
                              kind of terminal, the directory, the program, its arguments */
    TERMINAL_DATA = 'd',   /* what is typed */
    TERMINAL_RESIZE = 'r', /* a struct terminal_size */
};

enum { TERMINAL_MESSAGE_MAX = 32 * 1024, TERMINAL_WORDS_MAX = 64 };

struct terminal_message {
    uint32_t type;
    uint32_t len; /* of what follows, at most TERMINAL_MESSAGE_MAX */
};

struct terminal_size {
    uint16_t rows, columns;
};

#define TERMINAL_PROGRAM "terminal" /* below JAIL_LIB */
