/* Apart from denied.c because those who enter a jail do without its loop. */
#include "jail/denied.h"

#include <sys/stat.h>

/* The kernel has an inode of its own for this file in every network. */
uint64_t denied_network(const char *process)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof(path), "/proc/%s/net/dev", process);
    return stat(path, &st) == 0 ? (uint64_t)st.st_ino : 0;
}
