/* libcurl, by name, whatever it was built with. Runs in the box, before its walls. */
#include "explore/fetch_lib.h"

#include <dlfcn.h>
#include <stddef.h>

struct fetch_lib fetch_lib;

bool fetch_lib_load(void)
{
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return false;
#define FIND(name)                                                                                 \
    *(void **)(void *)&fetch_lib.name = dlsym(library, #name);                                     \
    if (fetch_lib.name == NULL)                                                                    \
        return false;
    FETCH_LIB_EACH(FIND)
#undef FIND
    return fetch_lib.curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}
