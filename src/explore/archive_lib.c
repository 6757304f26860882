/* libarchive, by name. Runs in the box, before its walls. */
#include "explore/archive_lib.h"

#include <dlfcn.h>
#include <locale.h>
#include <stddef.h>

struct archive_lib archive_lib;

bool archive_lib_load(void)
{
    static bool is_loaded;
    if (is_loaded)
        return true;
    void *library = dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return false;
#define FIND(name)                                                                                 \
    *(void **)(void *)&archive_lib.name = dlsym(library, #name);                                   \
    if (archive_lib.name == NULL)                                                                  \
        return false;
    ARCHIVE_LIB_EACH(FIND)
#undef FIND
    /* Names of members are Unicode in some formats; in another locale libarchive has none. */
    setlocale(LC_CTYPE, "C.UTF-8");
    is_loaded = true;
    return true;
}
