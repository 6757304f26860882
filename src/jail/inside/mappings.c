/* Shared mappings of a copy that went into a room. Runs in a jail. */
#include "jail/inside/mappings.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { MAPPINGS_MAX = 1024 };

struct mapping {
    uintptr_t from, to;
    off_t offset; /* in its file */
    int protection;
    char *name; /* NULL if it has none */
};

static struct mapping *noted;
static size_t n_noted;

static bool parse(char *line, struct mapping *m)
{
    char rights[5] = "";
    int name_at = 0;
    uint64_t offset = 0;
    int n = sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %*s %*s %n", &m->from, &m->to,
                   rights, &offset, &name_at);
    if (n < 4 || rights[3] != 's')
        return false;
    m->offset = (off_t)offset;
    m->protection = (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0) |
                    (rights[2] == 'x' ? PROT_EXEC : 0);
    line[strcspn(line, "\n")] = '\0';
    m->name = name_at > 0 && line[name_at] == '/' ? mem_strdup(line + name_at) : NULL;
    return true;
}

int mappings_note(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL)
        return -errno;
    noted = mem_alloc(MAPPINGS_MAX * sizeof(*noted));
    n_noted = 0;
    char line[PATH_MAX + 128];
    int r = 0;
    while (r == 0 && fgets(line, sizeof(line), maps) != NULL) {
        struct mapping m = {0};
        if (!parse(line, &m))
            continue;
        if (n_noted == MAPPINGS_MAX)
            r = -E2BIG;
        else
            noted[n_noted++] = m;
    }
    fclose(maps);
    return r;
}

static int map_file(const struct mapping *m)
{
    size_t len = m->to - m->from;
    struct stat st;
    _fd_ int fd = -1;
    if (m->name != NULL)
        fd = open(m->name, (m->protection & PROT_WRITE ? O_RDWR : O_RDONLY) | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return -ENOENT;
    off_t page = (off_t)sysconf(_SC_PAGESIZE);
    if (st.st_size + page - 1 <
        m->offset + (off_t)len) /* touching what lies behind it would kill */
        return -ENOENT;
    void *at = mmap((void *)m->from, len, m->protection, MAP_SHARED | MAP_FIXED, fd, m->offset);
    return at == MAP_FAILED ? -errno : 0;
}

static int map_copy(const struct mapping *m)
{
    size_t len = m->to - m->from;
    char *copy = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return -errno;
    if (m->protection & PROT_READ)
        memcpy(copy, (const void *)m->from, len);
    if (mprotect(copy, len, m->protection) < 0 ||
        mremap(copy, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)m->from) == MAP_FAILED)
        return -errno;
    return 0;
}

int mappings_move(void)
{
    int r = 0;
    for (size_t i = 0; i < n_noted; i++) {
        if (r == 0 && map_file(&noted[i]) < 0)
            r = map_copy(&noted[i]);
        free(noted[i].name);
    }
    free(noted);
    noted = NULL;
    n_noted = 0;
    return r;
}
