/* Allocation that ends the process when there is no memory. Every process. */
#include "base/base.h"

#include <malloc.h>

static void *checked(void *ptr)
{
    if (ptr == NULL) {
        static const char text[] = "cella: out of memory\n";
        ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);
        (void)ignored;
        abort();
    }
    return ptr;
}

void *mem_alloc(size_t size)
{
    return checked(calloc(1, size ? size : 1));
}

void *mem_realloc(void *ptr, size_t size)
{
    return checked(realloc(ptr, size ? size : 1));
}

void *mem_copy(const void *src, size_t size)
{
    void *copy = mem_alloc(size);
    if (size > 0)
        memcpy(copy, src, size);
    return copy;
}

char *mem_strdup(const char *s)
{
    return checked(strdup(s));
}

/* AddressSanitizer's allocator, of which mallinfo2 knows nothing; NULL in other builds. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

size_t mem_in_use(void)
{
    if (__sanitizer_get_current_allocated_bytes != NULL)
        return __sanitizer_get_current_allocated_bytes();
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
