/* notebook.image: the bytes of an image, as they are or smaller. Daemon; on the loop. */
#include "ops/image_call.h"

static const struct op_param notebook_image_params[] = {
    OP_PARAM_NOTEBOOK,
    OP_PARAM_CELL,
    {.name = "n",
     .type = OP_INT,
     .place = OP_IN_PATH,
     .is_required = true,
     .max = 1 << 20,
     .doc = "Which of its images, from 0."},
    OP_PARAMS_SIZE,
    {0},
};

/* Of the bytes that are sent: the same picture at the same size has the same one. */
static const char *tag_of(struct image_call *ic)
{
    struct call *call = image_call_of(ic);
    uint32_t width, height;
    bool is_scaled = image_call_fits(ic, &width, &height);
    const char *hash = image_call_facts(ic)->hash;
    return is_scaled ? arena_printf(&call->arena, "\"%s-%ux%u\"", hash, width, height)
                     : arena_printf(&call->arena, "\"%s\"", hash);
}

static void notebook_image_send(struct image_call *ic, const struct image_scaled *file)
{
    struct call *call = image_call_of(ic);
    enum image_format format = image_call_facts(ic)->format;
    const char *suffix = image_format_name(format);
    const char *name =
        arena_printf(&call->arena, "image-%llu%s%s", (unsigned long long)image_call_place(ic)->n,
                     suffix[0] != '\0' ? "." : "", suffix);
    call_send_file(call, &(struct call_file){.fd = file->fd,
                                             .bytes = file->bytes,
                                             .name = name,
                                             .type = image_format_type(format),
                                             .tag = tag_of(ic)});
}

static void notebook_image_on_found(struct image_call *ic)
{
    struct call *call = image_call_of(ic);
    const char *tag = tag_of(ic);
    if (call->known_tags == NULL || strstr(call->known_tags, tag) == NULL) {
        image_call_open(ic, notebook_image_send);
        return;
    }
    image_call_close(ic);
    call_send_file(
        call, &(struct call_file){
                  .fd = -1, .type = image_format_type(image_call_facts(ic)->format), .tag = tag});
}

static void notebook_image_run(struct call *call)
{
    struct image_place place = {.notebook = call_text(call, "session_id", ""),
                                .cell = call_text(call, "cell", ""),
                                .n = (uint64_t)call_int(call, "n", 0)};
    image_call_find(call, &place, notebook_image_on_found);
}

const struct op op_notebook_image = {
    .name = "notebook.image",
    .method = "GET",
    .path = "/v1/notebooks/{session_id}/cells/{cell}/images/{n}",
    .subject = OP_ON_NOTEBOOK,
    .flags = OP_READ_ONLY,
    .params = notebook_image_params,
    .doc = "An image that a cell has shown, as it is or smaller.",
    .run = notebook_image_run,
    .sends = "the image",
    .errors = OP_ERR(CONFLICT),
    .example = "{\"session_id\": \"$illustrated\", \"cell\": \"0\", \"n\": 0}",
};
