/* notebook: cells with their typed outputs as a document, and the formats that it is read from and
 * written to. Promises: whatever bytes are read, the answer is a document that keeps the invariants
 * below or an error that names the cell; memory is bounded by the limits below; nothing of a
 * document can run scripts in a page that is made of it. Owns no files and no sessions: bytes in,
 * bytes out; what goes into the store and comes out of it is documents.h's. May call session, store
 * and what lies below. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "cell/cell.h"
#include "wire/json.h"

#define NOTEBOOK_BYTES_MAX (256 * MIB) /* of a file, read or written */
enum {
    NOTEBOOK_DEPTH_MAX = 512,
    NOTEBOOK_VALUES_MAX = 4000000, /* JSON values of a file */
    NOTEBOOK_CELLS_MAX = 100000,
};

/* Outputs are an array of objects, each with a "type":
 *   text      "text", and "stream" (stdout, stderr) if it was written to one
 *   error     "name", "message", "traceback" (text)
 *   html      "html"      svg  "svg"      json  "json"
 *   markdown  "text"      latex  "text"
 *   dataframe "text", "html", "rows", "columns"
 *   image     "format", "width", "height", "data" (base64) or "resource_uri"
 * Those that can carry their plain text in "text" too. What is no stream and no error may have
 * "value" (true: of the last expression), "display_id", "mime" (other representations by media
 * type) and "metadata" (by media type, as nbformat has it). A text without "text" is known by its
 * "mime" alone. */
struct notebook_cell {
    char *id; /* as cell_is_id wants it, and unique, once the ids were settled */
    enum cell_kind kind;
    char *source; /* UTF-8; NUL characters count */
    size_t source_len;
    enum cell_state state;
    int64_t execution_count;        /* 0: not run */
    char *created_at, *executed_at; /* RFC 3339; NULL if not known */
    double execution_time;          /* seconds; negative: not known */
    bool is_undone;                 /* what it did was taken back; only written */
    json_t *outputs;                /* array; of code cells */
    json_t *metadata;               /* object; without what has a field here */
    json_t *attachments;            /* object, name -> media type -> base64; NULL if none */
};

struct document {
    char *title;   /* NULL if none */
    char *runtime; /* "python", "node", "bash", or the name of a language that Cella does not run */
    char *user_id, *session_id, *created_at, *updated_at; /* NULL if not known */
    int64_t execution_count;
    json_t *metadata; /* object; without what has a field here */
    struct notebook_cell *cells;
    size_t n_cells, cells_cap;
    size_t n_renamed; /* cells whose id was missing, malformed or taken */
};

struct document *notebook_new(void);
void notebook_free(struct document *doc);

/* The new cell is idle and empty; the pointer holds until the next one is added. */
struct notebook_cell *notebook_add_cell(struct document *doc, enum cell_kind kind);
void notebook_set_source(struct notebook_cell *cell, const char *source, size_t len);
void notebook_set_text(char **field, const char *text); /* replaces an owned string; NULL empties */

/* Gives every cell an id that keeps the invariant. Ids that do keep it stay as they are. */
void notebook_settle_ids(struct document *doc);

/* True if it is a notebook of Cella's and not one that only passes through. */
bool notebook_is_ours(const struct document *doc);
size_t notebook_count(const struct document *doc, enum cell_kind kind);
size_t notebook_count_outputs(const struct document *doc);

/* What a language is called and written like. Unknown ones are written as comments of "#". */
struct notebook_language {
    const char *runtime;      /* "node" */
    const char *name;         /* "javascript", as in language_info and after a fence */
    const char *display_name; /* of its kernelspec */
    const char *kernel;       /* "javascript" */
    const char *suffix;       /* ".js" */
    const char *mime;
    const char *lexer;
    const char *comment; /* "//" */
};
const struct notebook_language *notebook_language(const struct document *doc); /* never NULL */
const char *notebook_language_name(const struct document *doc); /* also of unknown ones */
const char *notebook_runtime_of(const char *language);          /* NULL if Cella does not run it */

static inline void cleanup_document(struct document **doc)
{
    notebook_free(*doc);
}

#define _document_ __attribute__((cleanup(cleanup_document)))
