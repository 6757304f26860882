/* Makes sixels. Runs in a box, behind the decoders. Our own, because libsixel would bring decoders
 * of a dozen formats and a quantizer into the box for what is a hundred lines here: a fixed cube of
 * 216 colours, which dithering makes look like more, needs no second look at the picture. */
#include "image/sixel.h"

#include "base/buf.h"

#include <string.h>

enum {
    LEVELS = 6, /* of each of red, green and blue */
    COLOURS = LEVELS * LEVELS * LEVELS,
    WHITE = 255,
    LINE_MAX = 64 * 1024, /* bytes that are written at a time, about */
};

static void sixels_write(struct sixels *s, struct buf *out)
{
    if (!s->has_failed && s->io->write(s->io->context, buf_str(out), out->len) < 0)
        s->has_failed = true;
    buf_clear(out);
}

bool sixels_begin(struct sixels *s, const struct scale_io *io, const struct average *a)
{
    *s = (struct sixels){.io = io, .width = a->to_width, .channels = a->channels};
    s->band = calloc(SIXEL_ROWS, a->to_width);
    if (s->band == NULL)
        return false;
    _buf_ struct buf out = BUF_INIT(LINE_MAX);
    /* Pixels are square, and what is not drawn stays as it is. */
    buf_printf(&out, "\033P0;1q\"1;1;%u;%u", a->to_width, a->to_height);
    for (unsigned i = 0; i < COLOURS; i++)
        buf_printf(&out, "#%u;2;%u;%u;%u", i, i / (LEVELS * LEVELS) * 100 / (LEVELS - 1),
                   i / LEVELS % LEVELS * 100 / (LEVELS - 1), i % LEVELS * 100 / (LEVELS - 1));
    sixels_write(s, &out);
    return true;
}

/* The colour of the cube for a pixel, on white where it is transparent. The threshold of its place
 * decides between the level below and the one above. */
static uint8_t sixels_colour(const struct sixels *s, const uint8_t *pixel, uint32_t x)
{
    static const uint8_t thresholds[4][4] = {
        {0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};
    unsigned alpha = s->channels % 2 == 0 ? pixel[s->channels - 1] : WHITE, colour = 0;
    unsigned threshold = thresholds[s->y % 4][x % 4];
    for (unsigned c = 0; c < 3; c++) {
        unsigned light = pixel[s->channels < 3 ? 0 : c];
        light = (light * alpha + WHITE * (WHITE - alpha)) / WHITE;
        unsigned level = (light * (LEVELS - 1) * 16 + threshold * WHITE) / (WHITE * 16);
        colour = colour * LEVELS + MIN(level, (unsigned)LEVELS - 1);
    }
    return (uint8_t)colour;
}

static void sixels_put_run(struct buf *out, char c, uint32_t n)
{
    if (n > 3)
        buf_printf(out, "!%u%c", n, c);
    else
        for (; n > 0; n--)
            buf_append_char(out, c);
}

static void sixels_put_band(struct sixels *s, uint32_t rows)
{
    bool is_used[256] = {0};
    _buf_ struct buf out = BUF_INIT(LINE_MAX + 16 * (size_t)s->width);
    for (size_t i = 0; i < (size_t)rows * s->width; i++)
        is_used[s->band[i]] = true;
    for (unsigned colour = 0; colour < COLOURS; colour++) {
        if (!is_used[colour])
            continue;
        /* One line of a band: where the colour is, a bit for each of its rows. */
        uint32_t n = 0;
        char last = '?';
        buf_printf(&out, "#%u", colour);
        for (uint32_t x = 0; x < s->width; x++) {
            unsigned bits = 0;
            for (uint32_t y = 0; y < rows; y++)
                bits |= (unsigned)(s->band[y * s->width + x] == colour) << y;
            char c = (char)('?' + bits);
            if (c != last) {
                sixels_put_run(&out, last, n);
                n = 0;
            }
            last = c;
            n++;
        }
        if (last != '?')
            sixels_put_run(&out, last, n);
        buf_append_char(&out, '$');
        if (out.len > LINE_MAX)
            sixels_write(s, &out);
    }
    buf_append_char(&out, '-');
    sixels_write(s, &out);
}

void sixels_add(struct sixels *s, const uint8_t *row)
{
    uint8_t *to = s->band + (size_t)(s->y % SIXEL_ROWS) * s->width;
    for (uint32_t x = 0; x < s->width; x++)
        to[x] = sixels_colour(s, row + (size_t)x * s->channels, x);
    s->y++;
    if (s->y % SIXEL_ROWS == 0)
        sixels_put_band(s, SIXEL_ROWS);
}

bool sixels_end(struct sixels *s)
{
    _buf_ struct buf out = BUF_INIT(16);
    if (s->y % SIXEL_ROWS != 0)
        sixels_put_band(s, s->y % SIXEL_ROWS);
    buf_append_str(&out, "\033\\");
    sixels_write(s, &out);
    return !s->has_failed;
}

void sixels_free(struct sixels *s)
{
    free(s->band);
}
