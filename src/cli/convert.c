/* `cella convert`: convert a notebook: ipynb, HTML, Markdown, script, cells.json. Command line
 * tool. */
#include "cli/args.h"
#include "cli/document.h"
#include "cli/show.h"
#include "cli/terminal.h"

#include <errno.h>

static const struct cli_flag convert_flags[] = {
    {"output", 'o', "FILE", "where to write; - (the default) is standard output"},
    {"to", 't', "FORMAT", "ipynb, html, markdown, script, cells-json; else by the suffix of -o"},
    {"from", 'f', "FORMAT", "ipynb, cells-json, script; else by the suffix or what it holds"},
    {0},
};

struct convert_order {
    struct cli_document_source in;
    const char *out; /* "-": a standard stream */
    enum notebook_format to;
    const char *runtime; /* that the suffix of a script promises; NULL if it says nothing */
};

/* ---- what is asked for ----------------------------------------------------------------------- */

static int read_order(const struct cli_args *args, struct convert_order *o, struct err *e)
{
    const char *out = cli_value(args, "output"), *from = cli_value(args, "from");
    if (args->n_words != 1) {
        err_set(e, ERR_INVALID, "name one notebook");
        return err_advise(e, "cella convert analysis.ipynb -o analysis.html");
    }
    *o = (struct convert_order){.in = {.path = args->words[0]}, .out = out != NULL ? out : "-"};
    o->in.has_format = from != NULL;
    if (from != NULL && cli_format_find(from, true, &o->in.format, e) < 0)
        return -1;
    if (strcmp(o->out, "-") == 0 && cli_has(args, "json")) {
        err_set(e, ERR_INVALID, "--json and the notebook cannot both go to standard output");
        return err_advise(e, "name a file: -o FILE");
    }
    const char *to = cli_value(args, "to");
    bool is_told = cli_format_of_file(o->out, &o->to, &o->runtime);
    if (to != NULL)
        return cli_format_find(to, false, &o->to, e);
    if (is_told)
        return 0;
    err_set(e, ERR_INVALID, "the name of the output does not say its format");
    return err_advise(e, "give it a suffix (-o out.html), or say --to html");
}

/* ---- converting ------------------------------------------------------------------------------ */

static int check_language(const struct convert_order *o, const struct document *doc, struct err *e)
{
    if (o->to != NOTEBOOK_SCRIPT || o->runtime == NULL || strcmp(o->runtime, doc->runtime) == 0)
        return 0;
    err_set(e, ERR_INVALID, "the notebook's language is %.64s", notebook_language_name(doc));
    return err_advise(e, "name the script with %s", notebook_language(doc)->suffix);
}

static bool convert_report_json(const struct convert_order *o, const struct document *doc,
                                size_t bytes)
{
    _json_ json_t *answer = json_object();
    json_object_set_new(answer, "input", json_string(o->in.path));
    json_object_set_new(answer, "output", json_string(o->out));
    json_object_set_new(answer, "format", json_string(cli_format_name(o->to)));
    json_object_set_new(answer, "language", json_string(notebook_language_name(doc)));
    json_object_set_new(answer, "cells", json_integer((json_int_t)doc->n_cells));
    json_object_set_new(answer, "code_cells",
                        json_integer((json_int_t)notebook_count(doc, CELL_CODE)));
    json_object_set_new(answer, "outputs", json_integer((json_int_t)notebook_count_outputs(doc)));
    json_object_set_new(answer, "renamed_ids", json_integer((json_int_t)doc->n_renamed));
    json_object_set_new(answer, "bytes", json_integer((json_int_t)bytes));
    return cli_print_json(answer);
}

static int convert_run(const struct cli_args *args, struct err *e)
{
    struct convert_order order;
    if (read_order(args, &order, e) < 0)
        return -1;
    _document_ struct document *doc = NULL;
    _buf_ struct buf text = BUF_INIT(2 * NOTEBOOK_BYTES_MAX);
    if (cli_document_read(&order.in, &doc, e) < 0 || check_language(&order, doc, e) < 0 ||
        notebook_write(doc, order.to, &text, e) < 0)
        return err_context(e, "%.200s", order.in.path);
    int r = cli_document_write(order.out, &text);
    if (r == -EPIPE)
        return CLI_EXIT_PIPE;
    if (r < 0)
        return err_errno(e, ERR_INVALID, -r, "%.200s cannot be written", order.out);
    if (strcmp(order.out, "-") == 0)
        return 0;
    if (cli_has(args, "json"))
        return convert_report_json(&order, doc, text.len) ? 0 : CLI_EXIT_PIPE;
    _buf_ struct buf line = BUF_INIT(64 * KIB);
    cli_append_safe(&line, order.out, strlen(order.out), false);
    buf_printf(&line, ": %s, %zu cells, %zu outputs, ", cli_format_name(order.to), doc->n_cells,
               notebook_count_outputs(doc));
    cli_describe_size(&line, text.len);
    buf_append_char(&line, '\n');
    cli_say(STDOUT_FILENO, "%s", buf_str(&line));
    return 0;
}

const struct cli_verb cli_convert_verb = {
    .name = "convert",
    .subject = OP_ON_NOTEBOOK,
    .summary = "convert a notebook: ipynb, HTML, Markdown, script, cells.json",
    .usage = "[OPTION...] IN -o OUT",
    .about = "Reads a notebook of Jupyter (format 4), a cells.json or a script with its cells\n"
             "marked by comments (# %%) and writes it in another format, without running it; - is\n"
             "standard input or output. HTML is one page that needs nothing else and runs no\n"
             "scripts. To run a notebook: cella run.",
    .flags = convert_flags,
    .examples = "cella convert analysis.ipynb -o analysis.html\n"
                "cella convert mcp_repl/cells.json -o analysis.ipynb\n"
                "cella convert analysis.ipynb -o analysis.py\n"
                "cat analysis.ipynb | cella convert - --to markdown | less",
    .run = convert_run,
};
