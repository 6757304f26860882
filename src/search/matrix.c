/* In a box, and in tests. */
#include "search/matrix.h"

#include <string.h>

enum { MATRIX_DEPTH_MAX = 32, MATRIX_NUMBER_MAX = 40 };

struct matrix_reader {
    struct matrix *list;
    size_t n, most;
    char open[MATRIX_DEPTH_MAX]; /* brackets */
    size_t depth;
    float row[MAXSIM_DIMS_MAX];
    size_t n_row;        /* numbers of the list that is open */
    size_t matrix_depth; /* that has the vectors read last; 0: none */
    struct matrix next;
};

static int matrix_refuse(struct err *e, const char *why)
{
    err_set(e, ERR_UPSTREAM, "the encoder's answer %s", why);
    return err_advise(
        e, "It should be {\"embeddings\": [[[numbers], …], …]}, a matrix for each text.");
}

static int matrix_end_row(struct matrix_reader *r, struct err *e)
{
    size_t padded = (r->n_row + MAXSIM_STEP - 1) / MAXSIM_STEP * MAXSIM_STEP;
    struct matrix *m = &r->next;
    if (m->dims == 0)
        m->dims = padded;
    if (m->dims != padded)
        return matrix_refuse(e, "has vectors of different lengths");
    if (m->rows < MAXSIM_ROWS_MAX) {
        m->data = mem_realloc(m->data, (m->rows + 1) * padded);
        m->rows += maxsim_pack(r->row, r->n_row, m->data + m->rows * padded, padded);
    }
    r->n_row = 0;
    r->matrix_depth = r->depth;
    return 0;
}

static int matrix_end_text(struct matrix_reader *r, struct err *e)
{
    if (r->n == r->most || (r->n > 0 && r->list[0].dims != r->next.dims))
        return matrix_refuse(e, r->n == r->most ? "has more matrices than texts were sent"
                                                : "has vectors of different lengths");
    r->list[r->n++] = r->next;
    r->next = (struct matrix){0};
    r->matrix_depth = 0;
    return 0;
}

static int matrix_close(struct matrix_reader *r, char c, struct err *e)
{
    if (r->depth == 0 || r->open[r->depth - 1] != (c == ']' ? '[' : '{'))
        return matrix_refuse(e, "is no JSON");
    r->depth--;
    if (c == ']' && r->n_row > 0)
        return matrix_end_row(r, e);
    if (r->matrix_depth > 0 && r->depth < r->matrix_depth)
        return matrix_end_text(r, e);
    return 0;
}

/* After the number; 0 if it is none. */
static size_t matrix_number(const char *text, size_t len, float *ret)
{
    char copy[MATRIX_NUMBER_MAX + 1], *end;
    size_t n = 0;
    while (n < len && n < MATRIX_NUMBER_MAX && strchr("0123456789+-.eE", text[n]) != NULL &&
           text[n] != '\0')
        n++;
    memcpy(copy, text, n);
    copy[n] = '\0';
    *ret = strtof(copy, &end);
    return end == copy + n ? n : 0;
}

static int matrix_read_all(struct matrix_reader *r, const char *text, size_t len, struct err *e)
{
    for (size_t i = 0; i < len;) {
        char c = text[i];
        bool is_number = (c >= '0' && c <= '9') || c == '-';
        if (c == '"') {
            for (i++; i < len && text[i] != '"'; i++)
                i += text[i] == '\\';
            i++;
        } else if (c == '[' || c == '{') {
            if (r->depth == MATRIX_DEPTH_MAX || r->n_row > 0)
                return matrix_refuse(e, "is nested in an odd way");
            r->open[r->depth++] = c;
            i++;
        } else if (c == ']' || c == '}') {
            if (matrix_close(r, c, e) < 0)
                return -1;
            i++;
        } else if (is_number) {
            float value;
            size_t n = matrix_number(text + i, len - i, &value);
            if (n == 0)
                return matrix_refuse(e, "has what is no number");
            bool is_in_list = r->depth > 0 && r->open[r->depth - 1] == '[';
            if (is_in_list && r->n_row == MAXSIM_DIMS_MAX)
                return matrix_refuse(e, "has a vector of too many numbers");
            if (is_in_list)
                r->row[r->n_row++] = value;
            i += n;
        } else {
            i++;
        }
    }
    if (r->depth > 0)
        return matrix_refuse(e, "is cut off");
    return r->n == r->most ? 0 : matrix_refuse(e, "has fewer matrices than texts were sent");
}

int matrix_read(const char *text, size_t len, struct matrix *ret, size_t n, struct err *e)
{
    _free_ struct matrix_reader *r = mem_alloc(sizeof(*r));
    r->list = ret;
    r->most = n;
    int done = matrix_read_all(r, text, len, e);
    free(r->next.data);
    for (size_t i = 0; done < 0 && i < r->n; i++)
        free(take_ptr(ret[i].data));
    return done;
}
