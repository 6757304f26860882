/* The part of a session's history that outlives its processes: the checkpoints whose states are
 * saved, and where the session is among them. It is JSON in the session's row, written with every
 * save and every step back or forth. */
#pragma once

struct session;

/* The caller frees it. */
char *line_write(const struct session *session);
/* Of a session that the store knew and that has no history yet. What cannot be read is left out. */
void line_read(struct session *session, const char *text);
