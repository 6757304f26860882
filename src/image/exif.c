/* The one thing of Exif that matters here: how a picture lies. Runs in a box. */
#include "image/exif.h"

#include <string.h>

/* "Exif", then a file of TIFF: byte order, 42, where its table is; in the table a count and entries
 * of tag, type, count and value. */
enum {
    START = 6,
    HEADER = 8,
    ENTRY = 12,
    TAG_ORIENTATION = 0x112,
    TYPE_SHORT = 3,
    ORIENTATIONS = 8,
};

struct tiff {
    const uint8_t *at;
    size_t len;
    bool is_big; /* byte order */
};

static uint32_t number(const struct tiff *t, size_t at, size_t bytes)
{
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | t->at[at + (t->is_big ? i : bytes - 1 - i)];
    return value;
}

unsigned exif_orientation(const uint8_t *data, size_t len)
{
    if (len < START + HEADER || memcmp(data, "Exif\0\0", START) != 0)
        return 0;
    struct tiff t = {data + START, len - START, data[START] == 'M'};
    if ((memcmp(t.at, "II*\0", 4) != 0 && memcmp(t.at, "MM\0*", 4) != 0))
        return 0;
    size_t at = number(&t, 4, 4);
    if (at > t.len - 2)
        return 0;
    uint32_t left = number(&t, at, 2);
    for (at += 2; left > 0 && t.len - at >= ENTRY; left--, at += ENTRY) {
        if (number(&t, at, 2) != TAG_ORIENTATION || number(&t, at + 2, 2) != TYPE_SHORT)
            continue;
        uint32_t value = number(&t, at + 8, 2);
        return value >= 1 && value <= ORIENTATIONS ? value : 0;
    }
    return 0;
}

void exif_make(unsigned orientation, uint8_t out[EXIF_BYTES])
{
    static const uint8_t start[EXIF_BYTES] =
        "Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01";
    memcpy(out, start, EXIF_BYTES);
    out[START + HEADER + 2 + 8 + 1] = (uint8_t)orientation;
}
