/* Bars on logarithmic axes, one panel for each thing that is compared. Colours hold on light and on
 * dark paper; the paper itself is left to the page. cella-bench. */
#include "bench/bench.h"

#include <math.h>

enum {
    WIDTH = 900,
    BARS_LEFT = 300,
    BARS_WIDTH = 480,
    ROW = 24,
    BAR = 15,
    TITLE = 34,
    AXIS = 34,
    MARGIN = 12
};

struct scale {
    enum bench_unit unit;
    double from;
    int decades;
};

static const struct scale scales[] = {
    {BENCH_NS, 1e4, 6},    /* 10 µs to 10 s */
    {BENCH_BYTES, 1e5, 4}, /* 100 kB to 1 GB */
};

struct panel {
    enum bench_id first, last; /* kinds of one comparison stand together */
    const struct scale *scale;
    bool has_axis; /* the last of its scale */
};

static const struct panel panels[] = {
    {BENCH_LIVE_UNIX, BENCH_LIVE_IPYTHON, &scales[0], false},
    {BENCH_THINK_UNIX, BENCH_THINK_IPYTHON, &scales[0], false},
    {BENCH_AGENT_CELL, BENCH_AGENT_CELL_POSIT, &scales[0], false},
    {BENCH_SPAWN_POOL, BENCH_SPAWN_IPYTHON, &scales[0], false},
    {BENCH_NODE_LIVE, BENCH_NODE_LIVE_PIPES, &scales[0], false},
    {BENCH_NODE_SPAWN, BENCH_NODE_SPAWN_BWRAP, &scales[0], false},
    {BENCH_BASH_LIVE, BENCH_BASH_LIVE_PIPES, &scales[0], false},
    {BENCH_BASH_SPAWN, BENCH_BASH_SPAWN_BWRAP, &scales[0], true},
    {BENCH_MEMORY_PSS, BENCH_MEMORY_IPYTHON_DATA, &scales[1], false},
    {BENCH_NODE_MEMORY, BENCH_NODE_MEMORY_PLAIN, &scales[1], false},
    {BENCH_BASH_MEMORY, BENCH_BASH_MEMORY_PLAIN, &scales[1], true},
};

static const char style[] =
    "<style>\n"
    "text { font: 13px system-ui, sans-serif; fill: #57606a }\n"
    ".title { font-weight: 600; fill: #24292f }\n"
    ".ours { fill: #1a9e8c } .peer { fill: #9aa4ae } .grid { stroke: #8b949e; opacity: .3 }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  text { fill: #b1bac4 } .title { fill: #e6edf3 } .ours { fill: #2fc4ae }\n"
    "}\n"
    "</style>\n";

static double x_of(const struct scale *s, double value)
{
    double share = log10(MAX(value, s->from) / s->from) / s->decades;
    return BARS_LEFT + BARS_WIDTH * MIN(share, 1.0);
}

static void put_escaped(struct buf *svg, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '&' || *text == '<')
            buf_append_str(svg, *text == '&' ? "&amp;" : "&lt;");
        else if (*text != '`')
            buf_append_char(svg, *text);
    }
}

static void put_text(struct buf *svg, double x, double y, const char *attributes, const char *text)
{
    buf_printf(svg, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, attributes);
    put_escaped(svg, text);
    buf_append_str(svg, "</text>\n");
}

static void put_bar(struct buf *svg, const struct bench *b, enum bench_id id,
                    const struct scale *scale, double y)
{
    const struct bench_kind *kind = &bench_kinds[id];
    double value = bench_summarize(b, id).p50, end = x_of(scale, value);
    _buf_ struct buf label = BUF_INIT(128);
    bench_put_value(&label, kind->unit, value);
    double factor = bench_ratio(b, id);
    if (factor > 0) {
        buf_append_str(&label, " (");
        bench_put_factor(&label, factor);
        buf_append_char(&label, ')');
    }
    put_text(svg, BARS_LEFT - 8, y + 12, " text-anchor=\"end\"", kind->who);
    buf_printf(svg,
               "<rect class=\"%s\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>\n",
               kind->is_ours ? "ours" : "peer", BARS_LEFT, y, MAX(end - BARS_LEFT, 2.0), BAR);
    put_text(svg, MAX(end, BARS_LEFT + 2.0) + 6, y + 12, "", buf_str(&label));
}

static void put_axis(struct buf *svg, const struct scale *s, double y)
{
    for (int i = 0; i <= s->decades; i++) {
        double value = s->from * pow(10, i);
        _buf_ struct buf label = BUF_INIT(64);
        bench_put_value(&label, s->unit, value);
        put_text(svg, x_of(s, value), y + 16, " text-anchor=\"middle\"", buf_str(&label));
    }
}

static void put_grid(struct buf *svg, const struct scale *s, double top, double bottom)
{
    for (int i = 0; i <= s->decades; i++) {
        double x = x_of(s, s->from * pow(10, i));
        buf_printf(svg, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                   x, x, top, bottom);
    }
}

static unsigned bars_of(const struct bench *b, const struct panel *p)
{
    unsigned n = 0;
    for (enum bench_id id = p->first; id <= p->last; id++)
        n += bench_has(b, id);
    return n;
}

static double height_of(const struct bench *b, const struct panel *p)
{
    unsigned n = bars_of(b, p);
    return (n > 0 ? TITLE + n * ROW : 0) + (p->has_axis ? AXIS : 0);
}

static void put_panel(struct buf *svg, const struct bench *b, const struct panel *p, double y)
{
    double bottom = y + height_of(b, p) - (p->has_axis ? AXIS : 0);
    if (bars_of(b, p) > 0) {
        put_text(svg, MARGIN, y + 22, " class=\"title\"", bench_kinds[p->first].what);
        put_grid(svg, p->scale, y + TITLE - 4, bottom);
    }
    double at = y + TITLE;
    for (enum bench_id id = p->first; id <= p->last; id++) {
        if (!bench_has(b, id))
            continue;
        put_bar(svg, b, id, p->scale, at);
        at += ROW;
    }
    if (p->has_axis)
        put_axis(svg, p->scale, bottom);
}

void bench_plot(const struct bench *b, struct buf *svg)
{
    double height = 2 * MARGIN, y = MARGIN;
    for (size_t i = 0; i < ARRAY_LEN(panels); i++)
        height += height_of(b, &panels[i]);
    buf_printf(svg,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
               "height=\"%.0f\">\n<title>Cella and its peers: time and memory, p50, logarithmic"
               "</title>\n%s",
               WIDTH, height, WIDTH, height, style);
    for (size_t i = 0; i < ARRAY_LEN(panels); i++) {
        put_panel(svg, b, &panels[i], y);
        y += height_of(b, &panels[i]);
    }
    buf_append_str(svg, "</svg>\n");
}
