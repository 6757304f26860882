/* Sending a file: read by the loop's worker threads, a piece at a time and no faster than the
 * client takes it. */
#pragma once

#include "ops/op.h"

struct conn;
struct download;

/* Answers the connection's call with the file. */
void download_start(struct conn *c, const struct call_file *file);
/* The client has taken all that was written. */
void download_go_on(struct download *d);
