/* Showing what a cell gave: streams as they are, typed outputs as text or as a note, errors made
 * safe. Command line tool. */
#include "cli/show.h"

#include "base/clock.h"
#include "base/fd.h"
#include "cell/prose.h"
#include "cli/advice.h"
#include "cli/api.h"
#include "cli/terminal.h"
#include "wire/base64.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>

enum { IMAGE_MAX = 64 << 20, IMAGE_NAMES_MAX = 10000, JSON_MAX = 1 << 30 };

int cli_show_read(const struct cli_args *args, struct cli_show *ret_show, struct err *e)
{
    const char *images = cli_value(args, "save-images");
    if (images != NULL && mkdir(images, 0777) < 0 && errno != EEXIST)
        return err_errno(e, ERR_NOT_FOUND, errno, "--save-images %.128s", images);
    if (images != NULL && access(images, W_OK | X_OK) < 0)
        return err_errno(e, ERR_NOT_FOUND, errno, "--save-images %.128s", images);
    *ret_show =
        (struct cli_show){.image_dir = images, .is_coloured = cli_is_coloured(STDERR_FILENO)};
    return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void show_put(struct cli_show *s, int fd, const char *data, size_t len)
{
    while (len > 0 && s->problem == 0) {
        size_t done = 0;
        int status = cli_write(fd, data, len, &done);
        data += done;
        len -= done;
        bool goes_on = status == -EINTR && s->on_signal != NULL &&
                       s->on_signal(s->context, cli_signal_taken());
        if (status < 0 && !goes_on)
            s->problem = status;
    }
}

void cli_show_stream(struct cli_show *s, bool is_stderr, const char *text, size_t len)
{
    if (len == 0)
        return;
    show_put(s, is_stderr ? STDERR_FILENO : STDOUT_FILENO, text, len);
    if (!is_stderr)
        s->is_out_mid_line = text[len - 1] != '\n';
}

static void show_put_line(struct cli_show *s, int fd, const struct buf *line)
{
    if (fd == STDOUT_FILENO && s->is_out_mid_line)
        show_put(s, fd, "\n", 1);
    show_put(s, fd, buf_str(line), line->len);
    if (line->len == 0 || line->data[line->len - 1] != '\n')
        show_put(s, fd, "\n", 1);
    if (fd == STDOUT_FILENO)
        s->is_out_mid_line = false;
}

bool cli_print_json(const json_t *value)
{
    /* Not json_dumps: it writes 1.354 as 1.3540000000000001. */
    _buf_ struct buf text = BUF_INIT(JSON_MAX);
    struct json_out out = JSON_OUT(&text);
    json_put_value(&out, value);
    buf_append_char(&text, '\n');
    struct cli_show plain = {0};
    show_put(&plain, STDOUT_FILENO, buf_str(&text), text.len);
    return plain.problem == 0 && !text.overflowed;
}

/* --- typed outputs ---------------------------------------------------------------------------- */

void cli_describe_size(struct buf *out, uint64_t bytes)
{
    if (bytes < 1000)
        buf_printf(out, "%d B", (int)bytes);
    else if (bytes < 1000000)
        buf_printf(out, "%.1f KB", (double)bytes / 1e3);
    else
        buf_printf(out, "%.1f MB", (double)bytes / 1e6);
}

static bool is_image(const json_t *output)
{
    return cli_json_is(output, "type", "image") || cli_json_is(output, "type", "svg");
}

/* "png": what a file name may end in, whatever the daemon says. */
static const char *image_format(const json_t *output)
{
    static const char *const known[] = {"png", "jpeg", "jpg", "gif", "webp", "pdf", "svg"};
    const char *format = cli_json_text(output, "format", NULL);
    if (cli_json_is(output, "type", "svg"))
        return "svg";
    for (size_t i = 0; format != NULL && i < ARRAY_LEN(known); i++)
        if (strcmp(format, known[i]) == 0)
            return known[i];
    return "bin";
}

/* The image's bytes; false if they are none. */
static bool show_read_image(const json_t *output, struct buf *ret_bytes)
{
    static const char *const svg_members[] = {"svg", "text", "data"};
    size_t len = 0;
    if (cli_json_is(output, "type", "svg")) {
        for (size_t i = 0; i < ARRAY_LEN(svg_members); i++) {
            const char *text = cli_json_text(output, svg_members[i], &len);
            if (text != NULL)
                return buf_append(ret_bytes, text, len);
        }
        return false;
    }
    const char *data = cli_json_text(output, "data", &len);
    return data != NULL && base64_decode(ret_bytes, data, len);
}

static void describe_image(struct buf *out, const json_t *output)
{
    _buf_ struct buf bytes = BUF_INIT(IMAGE_MAX);
    buf_printf(out, "[image %s", image_format(output));
    int64_t width = cli_json_int(output, "width", 0), height = cli_json_int(output, "height", 0);
    if (width > 0 && height > 0)
        buf_printf(out, " %lldx%lld", (long long)width, (long long)height);
    if (show_read_image(output, &bytes)) {
        buf_append_str(out, ", ");
        cli_describe_size(out, bytes.len);
    }
    buf_append_char(out, ']');
}

void cli_describe_output(struct buf *out, const json_t *output)
{
    size_t len = 0;
    const char *text = cli_json_text(output, "text", &len);
    const json_t *json = json_object_get(output, "json");
    if (is_image(output)) {
        describe_image(out, output);
    } else if (text != NULL) {
        buf_append(out, text, len);
    } else if (json != NULL) {
        _free_ char *dumped = json_dumps(json, JSON_INDENT(2) | JSON_ENCODE_ANY);
        buf_append_str(out, dumped != NULL ? dumped : "[json]");
    } else if (cli_json_text(output, "html", &len) != NULL) {
        buf_append_str(out, "[html, ");
        cli_describe_size(out, len);
        buf_append_str(out, "; see it with --json]");
    } else {
        buf_append_str(out, "[an output that has no text; see it with --json]");
    }
}

/* Never over a file that exists: the next free number is taken. */
static int save_image(struct cli_show *s, const json_t *output, char path[PATH_MAX])
{
    _buf_ struct buf bytes = BUF_INIT(IMAGE_MAX);
    if (!show_read_image(output, &bytes))
        return -EBADMSG;
    _fd_ int fd = -1;
    while (fd < 0 && s->n_images < IMAGE_NAMES_MAX) {
        snprintf(path, PATH_MAX, "%s/image-%u.%s", s->image_dir, ++s->n_images,
                 image_format(output));
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd < 0 && errno != EEXIST)
            return -errno;
    }
    return fd < 0 ? -EEXIST : fd_write_all(fd, buf_str(&bytes), bytes.len);
}

static void show_image(struct cli_show *s, const json_t *output)
{
    _buf_ struct buf note = BUF_INIT(2 * PATH_MAX), bytes = BUF_INIT(IMAGE_MAX);
    describe_image(&note, output);
    char path[PATH_MAX];
    if (s->on_picture != NULL && show_read_image(output, &bytes)) {
        if (s->is_out_mid_line)
            show_put(s, STDOUT_FILENO, "\n", 1);
        s->is_out_mid_line = false;
        if (s->on_picture(s->picture_context, image_format(output), &bytes) && s->image_dir == NULL)
            return;
    }
    int status = s->image_dir != NULL ? save_image(s, output, path) : 0;
    if (s->image_dir != NULL && status == 0)
        buf_printf(&note, " %s", path);
    else if (status < 0)
        buf_printf(&note, " could not be saved: %s", strerror(-status));
    /* A note is no output of the program: whoever reads its stdout should not find it there. */
    show_put_line(s, isatty(STDOUT_FILENO) ? STDOUT_FILENO : STDERR_FILENO, &note);
}

void cli_show_output(struct cli_show *s, const json_t *output)
{
    if (!json_is_object(output))
        return;
    if (is_image(output)) {
        show_image(s, output);
        return;
    }
    _buf_ struct buf text = BUF_INIT(IMAGE_MAX);
    cli_describe_output(&text, output);
    show_put_line(s, STDOUT_FILENO, &text);
}

/* --- errors ----------------------------------------------------------------------------------- */

static bool ended_by_itself(const json_t *answer)
{
    return cli_json_is(answer, "status", "ok") || cli_json_is(answer, "status", "error");
}

void cli_describe_error(struct buf *text, const json_t *answer)
{
    const json_t *error = json_object_get(answer, "error");
    static const char node_frame[] = "    at ";
    size_t len = 0, name_len = 0, stack_len = 0;
    const char *stack = cli_json_text(error, "traceback", &stack_len);
    const char *name = cli_json_text(error, "name", &name_len);
    const char *message = cli_json_text(error, "message", &len);
    if (name == NULL || message == NULL || (stack_len == 0 && !ended_by_itself(answer)))
        return;
    bool is_node =
        stack_len > strlen(node_frame) && memcmp(stack, node_frame, strlen(node_frame)) == 0;
    const char *place = len > 0 ? memmem(message, len, " (<cell ", 8) : NULL;
    if (stack_len > 0 && place != NULL) /* which the traceback says above it */
        len = (size_t)(place - message);
    /* What ended it otherwise is said by the verdict. */
    bool is_own = ended_by_itself(answer) || strcmp(name, "KeyboardInterrupt") == 0;
    bool is_said =
        stack_len > 0 && (!is_own || prose_has_message(stack, stack_len, name, message, len));
    if (!is_node)
        buf_append(text, stack, stack_len);
    if (text->len > 0 && text->data[text->len - 1] != '\n')
        buf_append_char(text, '\n');
    if (!is_said) {
        buf_printf(text, "%.*s%s", (int)MIN(name_len, (size_t)KIB), name, len > 0 ? ": " : "");
        buf_append(text, message, len);
        buf_append_char(text, '\n');
    }
    if (is_node)
        buf_append(text, stack, stack_len);
}

void cli_show_error(struct cli_show *s, const json_t *answer)
{
    const json_t *error = json_object_get(answer, "error");
    size_t len = 0;
    const char *advice = cli_json_text(error, "advice", &len);
    /* Nothing went wrong, or nothing that anybody needs to hear of: `exit 3` in a session that was
     * made for this cell. */
    bool is_exit = cli_json_is(answer, "status", "died") && cli_json_is(error, "name", "Exited");
    if (cli_json_is(answer, "status", "running") || cli_json_is(answer, "status", "queued") ||
        cli_json_is(answer, "status", "input_required") ||
        cli_json_is(answer, "status", "tool_call_required") || (is_exit && s->is_temporary))
        return;
    _buf_ struct buf text = BUF_INIT(16 * MIB);
    _buf_ struct buf told = BUF_INIT(16 * MIB);
    cli_describe_error(&told, answer);
    if (told.len != 0) {
        if (s->is_coloured)
            buf_append_str(&text, "\033[31m");
        cli_append_safe(&text, buf_str(&told), told.len, true);
        while (text.len > 0 && text.data[text.len - 1] == '\n')
            text.len--;
        if (s->is_coloured)
            buf_append_str(&text, "\033[0m");
        buf_append_char(&text, '\n');
    }
    /* "timeout: stopped by SIGINT after ...", for cells that did not end by themselves. */
    size_t detail_len = 0;
    const char *status = cli_json_text(answer, "status", NULL);
    const char *message = cli_json_text(error, "message", &detail_len);
    if (status != NULL && !ended_by_itself(answer)) {
        buf_append_str(&text, "cella: ");
        cli_append_safe(&text, status, strlen(status), false);
        if (message != NULL && detail_len > 0) {
            buf_append_str(&text, ": ");
            cli_append_safe(&text, message, detail_len, true);
        }
        buf_append_char(&text, '\n');
    }
    if (advice != NULL && len > 0 && !s->is_temporary) {
        buf_append_str(&text, "  ");
        cli_append_advice(&text, advice, len);
        buf_append_char(&text, '\n');
    }
    if (text.len == 0)
        return;
    if (s->is_out_mid_line && isatty(STDOUT_FILENO)) {
        show_put(s, STDOUT_FILENO, "\n", 1);
        s->is_out_mid_line = false;
    }
    show_put_line(s, STDERR_FILENO, &text);
}

void cli_describe_age(struct buf *out, const char *rfc3339)
{
    struct tm tm = {0};
    const char *rest = rfc3339 != NULL ? strptime(rfc3339, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
    int64_t since = rest != NULL ? (int64_t)timegm(&tm) : -1;
    int64_t age = MAX((int64_t)(clock_wall_ms() / 1000) - since, (int64_t)0);
    if (since < 0)
        buf_append_char(out, '-');
    else if (age < 120)
        buf_printf(out, "%llds", (long long)age);
    else if (age < 7200)
        buf_printf(out, "%lldm", (long long)age / 60);
    else if (age < 172800)
        buf_printf(out, "%lldh", (long long)age / 3600);
    else
        buf_printf(out, "%lldd", (long long)age / 86400);
}
