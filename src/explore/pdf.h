/* The text of a PDF, by pdftotext (poppler-utils) in a box: no network, no files but its libraries
 * and fonts, limited memory and time. */
#pragma once

#include "explore/boxes.h"

#define PDF_BYTES_MAX ((uint64_t)500 * MIB)
#define PDF_TEXT_MAX ((uint64_t)64 * MIB)
#define PDF_MEMORY_MAX ((uint64_t)768 * MIB)

/* `fd` is a regular file at its beginning; `to` an empty one for the text, UTF-8 with a form feed
 * behind each page. Both are closed here in any case. The result is {"bytes":n}. */
struct explore_job *pdf_text(struct explore_boxes *boxes, int fd, int to, explore_answer_fn fn,
                             void *context, struct err *e);

#define PDF_BOX_WORD "pdf-box"
int pdf_box_main(void);
int pdf_box_close(void); /* 0 or -errno */
