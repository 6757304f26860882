/* What the session's interpreter makes of a text that it does not run, for those who read it line
 * by line or are about to write on: whether it is whole, how it could go on, what stands at a
 * place. */
#pragma once

#include "session/exec.h"

struct judging;

/* HEAD_UNSURE and no hints if the interpreter is busy, with another such question too, or does not
 * answer soon, and of more than 64 KiB. `e` is NULL unless the session died. */
typedef void (*judging_fn)(void *context, const struct head_judgement *told, const struct err *e);

/* `fn` is called once, maybe before this returns; then `ret` is NULL. */
int session_judge(struct session *session, const struct head_question *question, judging_fn fn,
                  void *context, struct judging **ret, struct err *e);
void judging_forget(struct judging *judging); /* the caller went away */

/* ---- for the rest of the room ---------------------------------------------------------------- */

void judging_on_told(struct session *session, const struct head_judgement *told);
void judging_end(struct session *session); /* the session is dead */
