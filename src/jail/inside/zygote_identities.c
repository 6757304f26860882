/* Identities of what stands in a dict of Python's. Interpreters, in a jail. */
#include "jail/inside/zygote_identities.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/types.h>

struct identities {
    void *key, *value, *type;
};

void *zygote_identities_of(void *dict)
{
    static struct {
        ssize_t (*size)(void *dict);
        int (*next)(void *dict, ssize_t *at, void **ret_key, void **ret_value);
        void *(*new_bytes)(const char *data, ssize_t size);
        char *(*data_of)(void *bytes);
    } python;
    if (python.data_of == NULL) {
        *(void **)&python.size = dlsym(RTLD_DEFAULT, "PyDict_Size");
        *(void **)&python.next = dlsym(RTLD_DEFAULT, "PyDict_Next");
        *(void **)&python.new_bytes = dlsym(RTLD_DEFAULT, "PyBytes_FromStringAndSize");
        *(void **)&python.data_of = dlsym(RTLD_DEFAULT, "PyBytes_AsString");
    }
    struct identities item;
    ssize_t left = python.size(dict), at = 0;
    void *bytes = left < 0 ? NULL : python.new_bytes(NULL, left * (ssize_t)sizeof(item));
    char *out = bytes == NULL ? NULL : python.data_of(bytes);
    for (; out != NULL && left > 0 && python.next(dict, &at, &item.key, &item.value); left--) {
        item.type = ((void **)item.value)[1];
        memcpy(out, &item, sizeof(item));
        out += sizeof(item);
    }
    return bytes;
}
