/* The daemon's side of PDFs. pdftotext says little: a status, and words about what is wrong, which
 * may quote the file. */
#include "explore/pdf.h"

#include "base/utf8.h"
#include "wire/json.h"

#include <string.h>
#include <sys/stat.h>

/* The first line of what pdftotext complained of, for a sentence. */
static void pdf_complaint(const struct explore_outcome *outcome, char *ret, size_t size)
{
    size_t len = 0;
    for (; len < MIN(outcome->len, size - 1) && outcome->text[len] != '\n'; len++)
        ret[len] = outcome->text[len] < ' ' || outcome->text[len] > '~' ? '?' : outcome->text[len];
    ret[len] = '\0';
}

static int pdf_conclude(const struct explore_outcome *outcome, json_t **ret, struct err *e)
{
    char why[200];
    struct stat st;
    if (outcome->status == 0 && fstat(outcome->to, &st) == 0) {
        *ret = json_pack("{s:I}", "bytes", (json_int_t)st.st_size);
        return 0;
    }
    if (memmem(outcome->text, outcome->len, "Incorrect password", 18) != NULL) {
        err_set(e, ERR_FORBIDDEN, "the PDF is protected by a password");
        return err_advise(e, "Save a copy without password, and read that.");
    }
    pdf_complaint(outcome, why, sizeof(why));
    err_set(e, ERR_CONFLICT, "the file is no PDF, or is damaged%s%s", why[0] != '\0' ? ": " : "",
            why);
    return err_advise(e, "Get the file again, and make sure that it is whole.");
}

static const struct explore_kind pdf_kind = {
    .word = PDF_BOX_WORD,
    .subject = "the PDF",
    .late = "Split it into parts, or read it in the session with a library such as pypdf.",
    .killed = "It is damaged, takes more than 768 MiB of memory, or is made to do harm. Nothing "
              "else was touched.",
    .walls = "seccomp and Landlock (Linux 5.13)",
    .install = "Install pdftotext (Debian: apt-get install poppler-utils).",
    .large = "the text of the PDF has more than 64 MiB",
    .conclude = pdf_conclude,
};

struct explore_job *pdf_text(struct explore_boxes *boxes, int fd, int to, explore_answer_fn fn,
                             void *context, struct err *e)
{
    struct stat st, to_st;
    struct explore_order order = {
        .kind = &pdf_kind, .in = fd, .to = to, .fn = fn, .context = context};
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || fstat(to, &to_st) < 0 ||
        !S_ISREG(to_st.st_mode))
        err_set(e, ERR_INVALID, "a PDF is a regular file, and so is its text");
    else if ((uint64_t)st.st_size > PDF_BYTES_MAX) {
        err_set(e, ERR_TOO_LARGE, "the PDF has %lld MiB, and %llu MiB are the most",
                (long long)(st.st_size / (off_t)MIB), (unsigned long long)(PDF_BYTES_MAX / MIB));
        err_advise(e, "%s", pdf_kind.late);
    } else {
        order.request = json_object();
        return explore_order(boxes, &order, e);
    }
    close(fd);
    close(to);
    return NULL;
}
