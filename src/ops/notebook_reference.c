/* notebook.reference: which cell, output or image a notebook:// address names. Daemon; on the
 * loop. */
#include "ops/image_call.h"
#include "wire/json.h"

#define SCHEME "notebook://"

enum { CANONICAL_PARTS = 5, SHORT_PARTS = 4, PART_MAX = 64 };

static const struct op_param notebook_reference_params[] = {
    OP_PARAM_NOTEBOOK,
    {.name = "uri",
     .type = OP_TEXT,
     .place = OP_IN_QUERY,
     .is_required = true,
     .min = 1,
     .max = 512,
     .doc = "notebook://NOTEBOOK/cell/CELL/image/N, or without the notebook: "
            "notebook://cell/CELL/image/N."},
    {.name = "data",
     .type = OP_BOOL,
     .place = OP_IN_QUERY,
     .doc = "Whether the answer is to hold the image itself, as base64."},
    OP_PARAMS_SIZE,
    {0},
};

static int notebook_reference_refuse(struct err *e, const char *uri)
{
    err_set(e, ERR_INVALID, "\"%.200s\" refers to nothing that a notebook has", uri);
    return err_advise(e, "It should look like notebook://cell/0/image/0 or "
                         "notebook://NOTEBOOK/cell/CELL/image/0.");
}

/* Splits at slashes; too many or empty parts give 0. `text` is changed. */
static size_t split(char *text, char *parts[CANONICAL_PARTS])
{
    size_t n = 0;
    char *rest = text, *part;
    while ((part = strsep(&rest, "/")) != NULL) {
        if (n == CANONICAL_PARTS || part[0] == '\0' || strlen(part) > PART_MAX)
            return 0;
        parts[n++] = part;
    }
    return n;
}

static bool read_count(const char *text, uint64_t *ret)
{
    char *end;
    *ret = strtoul(text, &end, 10);
    return strspn(text, "0123456789") == strlen(text) && strlen(text) <= 7 && *end == '\0';
}

static int read_reference(struct call *call, struct image_place *ret, struct err *e)
{
    const char *uri = call_text(call, "uri", "");
    ret->notebook = call_text(call, "session_id", "");
    if (strncmp(uri, SCHEME, strlen(SCHEME)) != 0)
        return notebook_reference_refuse(e, uri);
    char *parts[CANONICAL_PARTS];
    size_t n = split(arena_strdup(&call->arena, uri + strlen(SCHEME)), parts);
    if (n == CANONICAL_PARTS && strcmp(parts[0], ret->notebook) != 0) {
        err_set(e, ERR_INVALID, "this refers to the notebook %.64s, not to %.64s", parts[0],
                ret->notebook);
        return err_advise(e, "Ask that one: GET /v1/notebooks/%.64s/reference.", parts[0]);
    }
    char **of_cell = n == CANONICAL_PARTS ? parts + 1 : parts;
    if ((n != CANONICAL_PARTS && n != SHORT_PARTS) || strcmp(of_cell[0], "cell") != 0 ||
        strcmp(of_cell[2], "image") != 0 || !read_count(of_cell[3], &ret->n))
        return notebook_reference_refuse(e, uri);
    ret->cell = of_cell[1];
    return 0;
}

static void put_size(struct json_out *json, const char *name, uint64_t pixels)
{
    json_put_member_some(json, name, (int64_t)pixels);
}

/* With the size that was asked for. */
static void notebook_reference_put_url(struct json_out *json, struct image_call *ic, bool is_scaled)
{
    struct call *call = image_call_of(ic);
    const struct image_place *place = image_call_place(ic);
    int64_t width = call_int(call, "width", 0), height = call_int(call, "height", 0);
    _buf_ struct buf url = BUF_INIT(1024);
    buf_printf(&url, "/v1/notebooks/%s/cells/%s/images/%llu", place->notebook, place->cell,
               (unsigned long long)place->n);
    if (is_scaled && width > 0)
        buf_printf(&url, "?width=%lld", (long long)width);
    if (is_scaled && height > 0)
        buf_printf(&url, "%sheight=%lld", width > 0 ? "&" : "?", (long long)height);
    json_put_member_text(json, "url", buf_str(&url), url.len);
}

/* `file` and `text` are NULL unless the data were asked for. */
static void notebook_reference_answer(struct image_call *ic, const struct image_scaled *file,
                                      const char *text, size_t len)
{
    const struct image_facts *facts = image_call_facts(ic);
    const struct image_place *place = image_call_place(ic);
    uint32_t width, height;
    bool is_scaled = image_call_fits(ic, &width, &height);
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    _buf_ struct buf uri = BUF_INIT(1024);
    struct json_out json = JSON_OUT(&out);
    buf_printf(&uri, SCHEME "%s/cell/%s/image/%llu", place->notebook, place->cell,
               (unsigned long long)place->n);
    json_put_object(&json);
    json_put_member_text(&json, "uri", buf_str(&uri), uri.len);
    json_put_member_str(&json, "format", image_format_name(facts->format));
    put_size(&json, "width", width);
    put_size(&json, "height", height);
    /* Of a smaller one they are known once it was made. */
    if (file != NULL || !is_scaled)
        json_put_member_int(&json, "bytes", (int64_t)(file != NULL ? file->bytes : facts->bytes));
    notebook_reference_put_url(&json, ic, is_scaled);
    if (text != NULL)
        json_put_member_text(&json, "data", text, len);
    json_put_object_end(&json);
    call_reply(image_call_of(ic), 200, &out);
}

static void on_text(struct image_call *ic, const char *text, size_t len)
{
    uint64_t padding = (len > 0 && text[len - 1] == '=') + (len > 1 && text[len - 2] == '=');
    struct image_scaled file = {.bytes = len / 4 * 3 - padding};
    notebook_reference_answer(ic, &file, text, len);
}

static void encode(struct image_call *ic, const struct image_scaled *file)
{
    image_call_encode(ic, file, on_text);
}

static void notebook_reference_on_found(struct image_call *ic)
{
    if (call_bool(image_call_of(ic), "data", false)) {
        image_call_open(ic, encode);
        return;
    }
    image_call_close(ic);
    notebook_reference_answer(ic, NULL, NULL, 0);
}

static void notebook_reference_run(struct call *call)
{
    struct image_place place = {0};
    struct err e;
    if (read_reference(call, &place, &e) < 0)
        call_fail(call, &e);
    else
        image_call_find(call, &place, notebook_reference_on_found);
}

static const struct op_member reference_members[] = {
    {"uri", OP_TEXT, .is_always = true, .doc = "Its whole name."},
    {"format", OP_TEXT, .is_always = true, .doc = "png, jpeg, gif, svg …"},
    {"width", OP_INT, .doc = "Pixels."},
    {"height", OP_INT, .doc = "Pixels."},
    {"bytes", OP_SIZE, .doc = "How large the file is."},
    {"url", OP_TEXT, .is_always = true, .doc = "Where it can be had."},
    {"data", OP_TEXT, .doc = "The image, as base64."},
    {0},
};
static const struct op_shape shape_reference = {"reference", reference_members,
                                                "What a reference stands for."};

const struct op op_notebook_reference = {
    .name = "notebook.reference",
    .method = "GET",
    .path = "/v1/notebooks/{session_id}/reference",
    .subject = OP_ON_NOTEBOOK,
    .flags = OP_READ_ONLY,
    .params = notebook_reference_params,
    .doc = "What a notebook:// reference stands for: format, size and address of an image, and the "
           "image itself if that is asked for.",
    .run = notebook_reference_run,
    .result = &shape_reference,
    .errors = OP_ERR(CONFLICT),
    .example = "{\"session_id\": \"$illustrated\", \"uri\": \"notebook://cell/0/image/0\"}",
};
