/* What the files of a head share. head.c has its life, head_channel.c its socket, head_speech.c
 * what it says and head_orders.c what it is told. */
#pragma once

#include "runtime/head.h"

/* A callback may free the head while a function of ours still has it in hand. */
void head_hold(struct head *head);
void head_let_go(struct head *head);

/* Tells its owner that it ended; afterwards nothing is read or sent. */
void head_ended(struct head *head, const struct head_end_facts *facts);
/* Nothing of the channel can be believed any more. */
void head_break(struct head *head, const char *what);
/* The channel was closed. */
void head_lose(struct head *head);

/* ---- the channel ----------------------------------------------------------------------------- */

int head_open_channel(struct head *head, struct err *e); /* `sock` is there */
void head_close_channel(struct head *head);
void head_close_fds(struct head *head); /* the descriptors that were to be sent */
void head_want_events(struct head *head);
/* Sends what it can now; the rest goes when the socket has room, or the kernel takes descriptors
 * again. False if the channel is gone. */
bool head_flush(struct head *head);
/* Gives up the order whose descriptors the kernel does not take, if there is one: checkpoints and
 * saves give way to what comes next. */
void head_prefer_next(struct head *head);
/* Sends what was appended since `mark`. False if the channel is gone or the driver does not read.
 */
bool head_send(struct head *head, size_t mark);

/* ---- what it says ---------------------------------------------------------------------------- */

void head_on_frame(struct head *head, json_t *frame);
/* An order was not sent: the caller that waits for its answer is told. */
void head_on_unsent(struct head *head, enum head_order order, uint64_t id);
