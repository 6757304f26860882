/* PDFs by a real pdftotext in a real box. */
#include "base/fd.h"
#include "explore/pdf.h"
#include "loop/loop.h"
#include "loop/walls.h"
#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

struct world {
    uv_loop_t loop;
    struct explore_boxes *boxes;
};

struct answer {
    int n;
    json_t *result;
    struct err err;
};

static int setup(void **state)
{
    struct world *w = mem_alloc(sizeof(*w));
    uv_loop_init(&w->loop);
    w->boxes = explore_boxes_new(&w->loop);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    explore_boxes_free(w->boxes);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    free(w);
    return 0;
}

static void on_answer(void *context, json_t *result, const struct err *e)
{
    struct answer *answer = context;
    answer->n++;
    answer->result = json_incref(result);
    if (e != NULL)
        answer->err = *e;
}

/* ---- making PDFs ----------------------------------------------------------------------------- */

struct pdf {
    struct buf text;
    size_t offsets[64];
    size_t n;
};

static void begin(struct pdf *pdf)
{
    *pdf = (struct pdf){.text = BUF_INIT(MIB)};
    buf_append_str(&pdf->text, "%PDF-1.4\n");
}

static void add(struct pdf *pdf, const char *body)
{
    assert_true(pdf->n < ARRAY_LEN(pdf->offsets));
    pdf->offsets[pdf->n++] = pdf->text.len;
    buf_printf(&pdf->text, "%zu 0 obj\n%s\nendobj\n", pdf->n, body);
}

static void add_stream(struct pdf *pdf, const char *dictionary, const char *content)
{
    char body[1024];
    snprintf(body, sizeof(body), "<<%s/Length %zu>>stream\n%s\nendstream", dictionary,
             strlen(content), content);
    add(pdf, body);
}

static int finish(struct pdf *pdf)
{
    size_t start = pdf->text.len;
    buf_printf(&pdf->text, "xref\n0 %zu\n0000000000 65535 f \n", pdf->n + 1);
    for (size_t i = 0; i < pdf->n; i++)
        buf_printf(&pdf->text, "%010zu 00000 n \n", pdf->offsets[i]);
    buf_printf(&pdf->text, "trailer\n<</Size %zu/Root 1 0 R>>\nstartxref\n%zu\n%%%%EOF\n",
               pdf->n + 1, start);
    int fd = memfd_create("pdf", MFD_CLOEXEC);
    assert_int_equal(fd_write_all(fd, pdf->text.data, pdf->text.len), 0);
    lseek(fd, 0, SEEK_SET);
    buf_free(&pdf->text);
    return fd;
}

/* One page; its objects are 1 to 5, of which 5 is a font. */
static void add_page(struct pdf *pdf, const char *pages, const char *resources, const char *content)
{
    char page[512];
    begin(pdf);
    add(pdf, "<</Type/Catalog/Pages 2 0 R>>");
    add(pdf, pages);
    snprintf(page, sizeof(page),
             "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources"
             "<<%s/Font<</F1 5 0 R>>>>>>",
             resources);
    add(pdf, page);
    add_stream(pdf, "", content);
    add(pdf, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>");
}

#define ONE_PAGE "<</Type/Pages/Kids[3 0 R]/Count 1>>"

/* Forms that draw the next one four times: 4^30 in all. */
static int make_laughs(void)
{
    enum { N = 30 };
    struct pdf pdf;
    add_page(&pdf, ONE_PAGE, "/XObject<</X 6 0 R>>", "/X Do");
    for (size_t i = 1; i <= N; i++) {
        char dictionary[256];
        snprintf(dictionary, sizeof(dictionary),
                 "/Type/XObject/Subtype/Form/BBox[0 0 600 700]/Resources<</XObject<</X %zu 0 R>>"
                 "/Font<</F1 5 0 R>>>>",
                 i == N ? 5 : 6 + i);
        add_stream(&pdf, dictionary,
                   i == N ? "BT /F1 9 Tf 1 1 Td (x) Tj ET" : "/X Do /X Do /X Do /X Do");
    }
    return finish(&pdf);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static struct answer read_pdf(struct world *w, int fd, int to)
{
    struct answer answer = {0};
    struct err e;
    assert_non_null(pdf_text(w->boxes, fd, dup(to), on_answer, &answer, &e));
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(answer.n, 1);
    return answer;
}

static void require_error(struct answer answer, enum err_code code, const char *text)
{
    assert_null(answer.result);
    if (answer.err.code != code || strstr(answer.err.message, text) == NULL ||
        answer.err.advice[0] == '\0')
        fail_msg("%s: %s | %s", err_code_name(answer.err.code), answer.err.message,
                 answer.err.advice);
}

static void text_comes_out(void **state)
{
    struct pdf pdf;
    char text[64] = "";
    _fd_ int to = memfd_create("to", MFD_CLOEXEC);
    add_page(&pdf, ONE_PAGE, "", "BT /F1 24 Tf 72 700 Td (A needle of 50 \\200) Tj ET");
    struct answer answer = read_pdf(*state, finish(&pdf), to);
    if (answer.result == NULL)
        fail_msg("%s", answer.err.message);
    ssize_t n = pread(to, text, sizeof(text) - 1, 0);
    assert_int_equal(json_integer_value(json_object_get(answer.result, "bytes")), n);
    assert_non_null(strstr(text, "A needle of 50"));
    assert_int_equal(text[n - 1], '\f');
    json_decref(answer.result);
}

static void what_is_no_pdf_is_told(void **state)
{
    _fd_ int to = memfd_create("to", MFD_CLOEXEC);
    int text = memfd_create("text", MFD_CLOEXEC);
    assert_int_equal(write(text, "just text\n", 10), 10);
    lseek(text, 0, SEEK_SET);
    require_error(read_pdf(*state, text, to), ERR_CONFLICT, "the file is no PDF, or is damaged");
    require_error(read_pdf(*state, memfd_create("empty", MFD_CLOEXEC), to), ERR_CONFLICT,
                  "the file is no PDF, or is damaged");
    struct pdf pdf;
    add_page(&pdf, ONE_PAGE, "", "BT (x) Tj ET");
    int cut = finish(&pdf);
    assert_int_equal(ftruncate(cut, 40), 0);
    require_error(read_pdf(*state, cut, to), ERR_CONFLICT, "the file is no PDF, or is damaged");
    int ends[2];
    struct err e;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_null(pdf_text(((struct world *)*state)->boxes, ends[0], ends[1], on_answer, NULL, &e));
    assert_int_equal(e.code, ERR_INVALID);
}

static void pages_that_are_their_own_parents_end(void **state)
{
    _fd_ int to = memfd_create("to", MFD_CLOEXEC);
    struct pdf pdf;
    add_page(&pdf, "<</Type/Pages/Kids[2 0 R 3 0 R]/Parent 2 0 R/Count 4>>", "", "BT (x) Tj ET");
    struct answer answer = read_pdf(*state, finish(&pdf), to);
    assert_true(answer.result != NULL || answer.err.code == ERR_CONFLICT);
    json_decref(answer.result);
}

static void a_pdf_that_never_ends_is_ended(void **state)
{
    _fd_ int to = memfd_create("to", MFD_CLOEXEC);
    require_error(read_pdf(*state, make_laughs(), to), ERR_TIMEOUT,
                  "the PDF was not read within 30 s");
}

/* ---- the walls ------------------------------------------------------------------------------- */

static const char *const tries[] = {"passwd", "write", "socket", "fork",
                                    "shell",  "self",  "memory", "exec-memory"};

static int try_walls(const char *what)
{
    if (pdf_box_close() < 0)
        return 98;
    if (strcmp(what, "passwd") == 0)
        return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 ? 0 : 1;
    if (strcmp(what, "write") == 0)
        return open("/tmp/cella-pdf", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0 ? 0 : 1;
    if (strcmp(what, "socket") == 0)
        return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 ? 0 : 1;
    if (strcmp(what, "fork") == 0)
        return fork() < 0 ? 0 : 1;
    if (strcmp(what, "shell") == 0)
        return execl("/bin/sh", "sh", "-c", "exit 1", NULL) < 0 ? 0 : 1;
    if (strcmp(what, "self") == 0)
        return open("/proc/self/mem", O_RDONLY | O_CLOEXEC) < 0 ? 0 : 1;
    if (strcmp(what, "memory") == 0)
        return mmap(NULL, PDF_MEMORY_MAX, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
                       MAP_FAILED
                   ? 0
                   : 1;
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
               ? 0
               : 1;
}

static void walls_hold(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
        if (WALLS_SANITIZED && strcmp(tries[i], "memory") == 0)
            continue; /* such a build has no limit of addresses */
        pid_t pid = fork();
        if (pid == 0) {
            execl("/proc/self/exe", "test", "walls", tries[i], NULL);
            _exit(99);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("%s was possible: status %x", tries[i], (unsigned)status);
    }
}

int main(int argc, char **argv)
{
    int status = explore_boxes_main(argc - 1, argv + 1);
    if (status >= 0)
        return status;
    if (argc == 3)
        _exit(try_walls(argv[2]));
    setenv("CELLA_TEST_TIME_SCALE", "0.2", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_comes_out, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_pdf_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(pages_that_are_their_own_parents_end, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pdf_that_never_ends_is_ended, setup, teardown),
        cmocka_unit_test(walls_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
