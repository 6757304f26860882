/* /etc/subuid: whatever is in it, only a whole range of ids that are no accounts' is taken. */
#include "jail/warden/idmap.h"

#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { UID = 70000 };
    _free_ char *text = mem_alloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    unsigned first = 0;
    int r = idmap_parse(text, "a", UID, &first);
    if (r == 0 && (first < IDMAP_LOWEST || first > UINT32_MAX - IDMAP_COUNT ||
                   (UID >= first && UID < first + IDMAP_COUNT)))
        abort();
    if (r != 0 && (first != 0 || (r != -ENOENT && r != -ERANGE)))
        abort();
    return 0;
}
