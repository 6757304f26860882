/* Pictures through the whole way: a box is this program, run again. */
#include "image/image.h"
#include "image/scale.h"
#include "loop/loop.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <png.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

struct world {
    uv_loop_t loop;
    struct image_boxes *boxes;
};

struct answer {
    unsigned n; /* how often it came */
    struct image_scaled scaled;
    struct err err;
};

static void on_scaled(void *context, const struct image_scaled *scaled, const struct err *e)
{
    struct answer *answer = context;
    answer->n++;
    answer->scaled = scaled != NULL ? *scaled : (struct image_scaled){.fd = -1};
    answer->err = e != NULL ? *e : (struct err){0};
}

static int setup(void **state)
{
    struct world *w = mem_alloc(sizeof(*w));
    uv_loop_init(&w->loop);
    w->boxes = image_boxes_new(&w->loop);
    *state = w;
    return 0;
}

/* Whatever a test did, nothing of it is left. */
static int teardown(void **state)
{
    struct world *w = *state;
    image_boxes_free(w->boxes);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&w->loop);
    free(w);
    return rc != 0 || waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD;
}

/* ---- pictures -------------------------------------------------------------------------------- */

typedef void (*paint_fn)(uint32_t x, uint32_t y, uint8_t *pixel);

struct picture {
    uint32_t width, height;
    int colour; /* PNG_COLOR_TYPE_* */
    bool is_interlaced;
    paint_fn paint;
};

static unsigned channels_of(int colour)
{
    return (colour & PNG_COLOR_MASK_COLOR ? 3 : 1) + (colour & PNG_COLOR_MASK_ALPHA ? 1 : 0);
}

static void to_file(png_structp png, png_bytep data, size_t len)
{
    assert_int_equal(write(*(int *)png_get_io_ptr(png), data, len), len);
}

static int make_png(const struct picture *p)
{
    int fd = memfd_create("picture", MFD_CLOEXEC);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    size_t row_bytes = (size_t)p->width * channels_of(p->colour);
    _free_ uint8_t *row = mem_alloc(row_bytes);
    png_set_write_fn(png, &fd, to_file, NULL);
    png_set_compression_level(png, 1);
    png_set_IHDR(png, info, p->width, p->height, 8, p->colour,
                 p->is_interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    int passes = png_set_interlace_handling(png);
    for (int pass = 0; pass < passes; pass++) {
        for (uint32_t y = 0; y < p->height; y++) {
            for (uint32_t x = 0; x < p->width; x++)
                p->paint(x, y, row + x * channels_of(p->colour));
            png_write_row(png, row);
        }
    }
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    lseek(fd, 0, SEEK_SET);
    return fd;
}

/* As RGBA; the descriptor is closed. */
static uint8_t *read_png(int fd, uint32_t *ret_width, uint32_t *ret_height)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    FILE *file = fdopen(fd, "rb");
    assert_true(png_image_begin_read_from_stdio(&image, file));
    image.format = PNG_FORMAT_RGBA;
    uint8_t *pixels = mem_alloc(PNG_IMAGE_SIZE(image));
    assert_true(png_image_finish_read(&image, NULL, pixels, 0, NULL));
    *ret_width = image.width;
    *ret_height = image.height;
    fclose(file);
    return pixels;
}

static void paint_stripes(uint32_t x, uint32_t y, uint8_t *pixel)
{
    (void)y;
    memset(pixel, x % 2 == 0 ? 0 : 200, 3);
}

static void paint_holes(uint32_t x, uint32_t y, uint8_t *pixel)
{
    bool is_seen = (x + y) % 2 == 0;
    pixel[0] = is_seen ? 40 : 255; /* what is not seen is red, and must not show */
    pixel[1] = pixel[2] = is_seen ? 40 : 0;
    pixel[3] = is_seen ? 255 : 0;
}

static void paint_halves(uint32_t x, uint32_t y, uint8_t *pixel)
{
    pixel[0] = (uint8_t)(x < 300 ? 10 : 250);
    pixel[1] = (uint8_t)(y < 200 ? 10 : 250);
    pixel[2] = 77;
}

static void paint_gray(uint32_t x, uint32_t y, uint8_t *pixel)
{
    (void)x;
    (void)y;
    *pixel = 99;
}

static void paint_noise(uint32_t x, uint32_t y, uint8_t *pixel)
{
    for (int i = 0; i < 3; i++)
        pixel[i] = (uint8_t)((x * 2654435761u ^ y * 40503u ^ (unsigned)i * 97u) >> 7);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static struct answer scale(struct world *w, int fd, uint32_t width, uint32_t height)
{
    struct answer answer = {.scaled.fd = -1};
    struct err e;
    assert_non_null(image_scale(w->boxes, fd, IMAGE_PNG, (struct image_size){width, height},
                                on_scaled, &answer, &e));
    assert_int_equal(answer.n, 0);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(answer.n, 1);
    return answer;
}

static uint8_t *scaled_pixels(struct world *w, const struct picture *p, uint32_t width,
                              uint32_t height, uint32_t *ret_width, uint32_t *ret_height)
{
    struct answer answer = scale(w, make_png(p), width, height);
    if (answer.scaled.fd < 0)
        fail_msg("%s", answer.err.message);
    uint8_t *pixels = read_png(answer.scaled.fd, ret_width, ret_height);
    assert_int_equal(*ret_width, answer.scaled.width);
    assert_int_equal(*ret_height, answer.scaled.height);
    return pixels;
}

static void pixels_are_averages(void **state)
{
    uint32_t width, height;
    struct picture stripes = {100, 40, PNG_COLOR_TYPE_RGB, false, paint_stripes};
    _free_ uint8_t *pixels = scaled_pixels(*state, &stripes, 50, 0, &width, &height);
    assert_int_equal(width, 50);
    assert_int_equal(height, 20);
    for (size_t i = 0; i < (size_t)width * height; i++)
        assert_true(pixels[i * 4] == 100 && pixels[i * 4 + 1] == 100 && pixels[i * 4 + 3] == 255);
}

static void what_is_transparent_has_no_colour(void **state)
{
    uint32_t width, height;
    struct picture holes = {64, 64, PNG_COLOR_TYPE_RGBA, false, paint_holes};
    _free_ uint8_t *pixels = scaled_pixels(*state, &holes, 0, 8, &width, &height);
    assert_int_equal(width * height, 64);
    for (size_t i = 0; i < 64; i++)
        assert_true(pixels[i * 4] == 40 && pixels[i * 4 + 1] == 40 && pixels[i * 4 + 3] == 128);
}

/* Odd ratios, and all passes of an interlaced one. */
static void every_place_stays_where_it_is(void **state)
{
    for (int is_interlaced = 0; is_interlaced <= 1; is_interlaced++) {
        uint32_t width, height;
        struct picture halves = {600, 400, PNG_COLOR_TYPE_RGB, is_interlaced, paint_halves};
        _free_ uint8_t *pixels = scaled_pixels(*state, &halves, 91, 67, &width, &height);
        assert_int_equal(width, 91);
        assert_int_equal(height, 61);
        for (uint32_t y = 0; y < height; y++) {
            for (uint32_t x = 0; x < width; x++) {
                const uint8_t *p = pixels + ((size_t)y * width + x) * 4;
                assert_int_equal(p[2], 77);
                assert_int_equal(p[0], x < 45 ? 10 : x > 45 ? 250 : 130);
                assert_int_equal(p[1], y < 30 ? 10 : y > 30 ? 250 : 130);
            }
        }
    }
}

static void gray_stays_gray(void **state)
{
    uint32_t width, height;
    struct picture gray = {1000, 3, PNG_COLOR_TYPE_GRAY, false, paint_gray};
    _free_ uint8_t *pixels = scaled_pixels(*state, &gray, 10, 0, &width, &height);
    assert_int_equal(width, 10);
    assert_int_equal(height, 1);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(pixels[i * 4 + 2], 99);
}

static void damage_is_told(void **state)
{
    struct picture noise = {300, 300, PNG_COLOR_TYPE_RGB, false, paint_noise};
    int cut = make_png(&noise);
    assert_int_equal(ftruncate(cut, 20000), 0);
    int other = memfd_create("text", MFD_CLOEXEC);
    assert_int_equal(write(other, "GIF89a no picture", 17), 17);
    lseek(other, 0, SEEK_SET);
    int files[] = {cut, other, memfd_create("empty", MFD_CLOEXEC)};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct answer answer = scale(*state, files[i], 10, 10);
        assert_int_equal(answer.scaled.fd, -1);
        assert_int_equal(answer.err.code, ERR_CONFLICT);
        assert_non_null(strstr(answer.err.advice, "without width"));
    }
}

/* A header that promises more than anybody should decode. */
static void bombs_are_refused(void **state)
{
    static const unsigned char huge[] =
        "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xff\xff\0\0\xff\xff"
        "\x08\x02\0\0\0\x39\x67\x4e\x07\0\0\0\0IDAT\x35\xaf\x06\x1e";
    int fd = memfd_create("huge", MFD_CLOEXEC);
    assert_int_equal(write(fd, huge, sizeof(huge) - 1), sizeof(huge) - 1);
    lseek(fd, 0, SEEK_SET);
    struct answer answer = scale(*state, fd, 10, 10);
    assert_int_equal(answer.scaled.fd, -1);
    assert_true(answer.err.code == ERR_TOO_LARGE || answer.err.code == ERR_CONFLICT);
}

static void many_wait_their_turn_and_more_are_refused(void **state)
{
    struct world *w = *state;
    enum { N = IMAGE_QUEUE_MAX };
    struct picture noise = {200, 200, PNG_COLOR_TYPE_RGB, false, paint_noise};
    struct answer answers[N] = {0};
    struct err e;
    for (size_t i = 0; i < N; i++)
        assert_non_null(image_scale(w->boxes, make_png(&noise), IMAGE_PNG,
                                    (struct image_size){20, 20}, on_scaled, &answers[i], &e));
    assert_null(image_scale(w->boxes, make_png(&noise), IMAGE_PNG, (struct image_size){20, 20},
                            on_scaled, NULL, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(answers[i].n, 1);
        assert_int_equal(answers[i].scaled.width, 20);
        close(answers[i].scaled.fd);
    }
}

static void who_is_forgotten_is_silent(void **state)
{
    struct world *w = *state;
    struct picture noise = {2000, 2000, PNG_COLOR_TYPE_RGB, false, paint_noise};
    struct answer answers[3] = {0};
    struct image_job *jobs[3];
    struct err e;
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        jobs[i] = image_scale(w->boxes, make_png(&noise), IMAGE_PNG, (struct image_size){1000, 0},
                              on_scaled, &answers[i], &e);
    uv_run(&w->loop, UV_RUN_NOWAIT);
    image_forget(jobs[0]); /* at work, or about to be */
    image_forget(jobs[2]); /* waits */
    image_forget(NULL);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(answers[0].n + answers[2].n, 0);
    assert_int_equal(answers[1].n, 1);
    close(answers[1].scaled.fd);
}

static void the_end_ends_all(void **state)
{
    struct world *w = *state;
    struct picture noise = {2000, 2000, PNG_COLOR_TYPE_RGB, false, paint_noise};
    struct answer answer = {0};
    struct err e;
    for (size_t i = 0; i < 4; i++)
        image_scale(w->boxes, make_png(&noise), IMAGE_PNG, (struct image_size){1500, 0}, on_scaled,
                    &answer, &e);
    uv_run(&w->loop, UV_RUN_NOWAIT);
    image_boxes_free(take_ptr(w->boxes));
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(answer.n, 0);
}

/* What a decoder that was taken over would do: this box decodes nothing and tries the walls. */
static void walls_hold(void **state)
{
    (void)state;
    static const char *const tries[] = {"open", "socket", "fork", "exec-memory", "kill", "stderr"};
    for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
        pid_t pid = fork();
        if (pid == 0) {
            execl("/proc/self/exe", "test", "walls", tries[i], NULL);
            _exit(99);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
            fail_msg("%s was possible: status %x", tries[i], (unsigned)status);
    }
}

static void encoded(void *context, const char *text, size_t len, const struct err *e)
{
    assert_null(e);
    assert_int_equal(len, 8);
    assert_string_equal(text, "cGl4ZWw=");
    ++*(int *)context;
}

static void files_become_text(void **state)
{
    struct world *w = *state;
    int n = 0;
    for (int i = 0; i < 2; i++) {
        int fd = memfd_create("pixel", MFD_CLOEXEC);
        assert_int_equal(write(fd, "pixel", 5), 5);
        struct image_encoding *encoding = image_encode(w->boxes, fd, 5, encoded, &n);
        if (i == 1)
            image_encode_forget(encoding);
    }
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(n, 1);
}

/* ---- the box that tries its walls ------------------------------------------------------------ */

static int try_walls(const char *what)
{
    if (image_box_close() < 0)
        return 98;
    if (strcmp(what, "open") == 0)
        open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    else if (strcmp(what, "socket") == 0)
        socket(1, 1, 0);
    else if (strcmp(what, "fork") == 0)
        fork();
    else if (strcmp(what, "exec-memory") == 0)
        mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    else if (strcmp(what, "kill") == 0)
        kill(getppid(), 0);
    else if (strcmp(what, "stderr") == 0 && write(2, "x", 1) < 0)
        _exit(97);
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], IMAGE_BOX_WORD) == 0)
        return image_box_main(argc - 2, argv + 2);
    if (argc == 3)
        return try_walls(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pixels_are_averages, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_transparent_has_no_colour, setup, teardown),
        cmocka_unit_test_setup_teardown(every_place_stays_where_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(gray_stays_gray, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(bombs_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(many_wait_their_turn_and_more_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_forgotten_is_silent, setup, teardown),
        cmocka_unit_test_setup_teardown(the_end_ends_all, setup, teardown),
        cmocka_unit_test_setup_teardown(files_become_text, setup, teardown),
        cmocka_unit_test(walls_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
