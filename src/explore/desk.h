/* What a box has before it: the texts that it was given, mapped, and an answer to each request. No
 * request is believed, though the daemon writes them: their members come from agents. */
#pragma once

#include "explore/crew.h"
#include "wire/json.h"

struct desk;

struct desk *desk_new(struct crew *crew); /* borrowed; NULL for no threads */
void desk_free(struct desk *desk);        /* takes NULL */

/* Maps a file under this key, in place of what had it; the descriptor is closed. What cannot be
 * mapped is told to whoever asks for it. */
void desk_map(struct desk *desk, const char *key, int fd);
void desk_drop(struct desk *desk, const char *key);

/* Appends {"result":{…}} or {"error":{"code","message","advice"}}, within EXPLORE_ANSWER_MAX and a
 * little; with "is_unmapped" if a text could not be mapped, which is forgotten then. */
void desk_answer(struct desk *desk, const json_t *request, struct buf *out);
