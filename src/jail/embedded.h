/* The files that travel inside the program and are shown in every jail below JAIL_LIB. The build
 * makes the table (packaging/embed.sh). */
#pragma once

#include <stddef.h>

struct embedded_file {
    const char *name;          /* below JAIL_LIB, "python/driver.py"; NULL ends the table */
    const unsigned char *data; /* a NUL follows it, which `size` does not count */
    size_t size;
};

extern const struct embedded_file embedded_files[];
