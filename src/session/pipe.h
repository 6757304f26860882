/* One stream of one cell: the reading end of its pipe. The daemon always reads and never waits: a
 * cell that writes a lot is read in turns with everything else, a cell that writes late is still
 * read.
 *
 * A short cell's pipe is never given to the loop: its few bytes are fetched when the verdict comes.
 */
#pragma once

#include "cell/output.h"

struct engine;
struct exec;
struct loop_poll;
struct redactor;

/* A pipe that no interpreter has seen yet. */
struct spare_pipe {
    bool is_there;
    int read_fd, write_fd;
};

struct exec_pipe {
    struct exec *exec;
    enum output_stream stream;
    int fd;                 /* -1: none, or at its end */
    struct loop_poll *poll; /* NULL while the loop does not watch it */
    char held[4];           /* the beginning of a character that was not passed on yet */
    uint8_t n_held;
    bool is_redacted;          /* so is whatever the cell shows besides */
    struct redactor *redactor; /* takes credentials out of the text; NULL if it is shown as it is */
};

/* Makes the pipe, or takes a spare one; the writing end is the caller's. */
int exec_pipe_open(struct exec_pipe *pipe, struct exec *exec, enum output_stream stream,
                   int *ret_write_fd);
/* Makes the pipes of the next cell, whichever session's that is, while an interpreter works: then
 * no caller waits for it. Only for a caller whose cells follow each other. */
void exec_pipes_spare(struct engine *engine);
/* No cell is expected soon, or none at all. */
void exec_pipes_drop(struct engine *engine);
void exec_pipe_close(struct exec_pipe *pipe);
/* Reads what is in it now and not what is written meanwhile; false if the end was reached. */
bool exec_pipe_drain(struct exec_pipe *pipe);
/* What was read until now is all that belongs together: what might have been the beginning of a
 * credential is text. */
void exec_pipe_release(struct exec_pipe *pipe);
/* From now on the loop reads it. */
void exec_pipe_watch(struct exec_pipe *pipe);
/* Nothing is expected any more: gives most of the kernel's buffer back. */
void exec_pipe_shrink(struct exec_pipe *pipe);
/* Text of ours that an interactive interpreter would have written here. */
void exec_pipe_echo(struct exec_pipe *pipe, const char *text, size_t len);
/* Tells a listener that comes late what was written since the last answer, as far as it is kept. */
void exec_pipe_replay(struct exec_pipe *pipe);
/* Hands bytes over to the listener that were held back as half a character. */
void exec_pipe_flush_held(struct exec_pipe *pipe);
