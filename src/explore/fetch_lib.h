/* libcurl, loaded by the box that fetches a page and by nobody else: it brings thirty libraries
 * along, which every start of the program would pay for. */
#pragma once

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <stdbool.h>

#define FETCH_LIB_EACH(F)                                                                          \
    F(curl_easy_getinfo)                                                                           \
    F(curl_easy_init)                                                                              \
    F(curl_easy_perform)                                                                           \
    F(curl_easy_setopt)                                                                            \
    F(curl_easy_strerror)                                                                          \
    F(curl_global_init)                                                                            \
    F(curl_slist_append)

struct fetch_lib {
#define MEMBER(name) __typeof__(&(name)) name;
    FETCH_LIB_EACH(MEMBER)
#undef MEMBER
};

extern struct fetch_lib fetch_lib;

/* Once; false if it is not there. */
bool fetch_lib_load(void);
