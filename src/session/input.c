/* Lines that cells wait for, in the daemon: asked of the caller, handed to the interpreter. */
#include "session/input.h"

#include "base/clock.h"
#include "cell/redact.h"
#include "runtime/head.h"

void input_answer(struct exec *exec)
{
    answer_send(exec,
                &(struct exec_outcome){.status = CELL_INPUT, .duration_ms = exec_elapsed_ms(exec)});
}

void input_on_prompt(struct session *session, const struct head_prompt *prompt)
{
    struct exec *exec = session->running;
    if (session->ending.wish != DEATH_UNWISHED)
        return;
    _buf_ struct buf text = BUF_INIT(SIZE_MAX / 4);
    if (exploring_redacts(session))
        redact_text(prompt->text, prompt->len, &text);
    else
        buf_append(&text, prompt->text, prompt->len);
    struct exec_question *question = mem_alloc(sizeof(*question) + text.len + 1);
    question->is_password = prompt->is_password;
    question->len = text.len;
    memcpy(question->prompt, buf_str(&text), text.len);
    session_restart_idle(session);
    exec_drain(exec);
    if (exec->echoes) /* a terminal would show what is asked */
        exec_pipe_echo(&exec->pipes[OUTPUT_STDOUT], buf_str(&text), text.len);
    free(exec->question);
    exec->question = question;
    exec_pause(exec);
    if (exec->listener != NULL)
        input_answer(exec);
}

int session_input(struct session *session, uint64_t exec_id, const char *text, size_t len,
                  const struct exec_wait *wait, struct exec **ret_exec, struct err *e)
{
    session_restart_idle(session);
    if (session_refuse_if_dead(session, e) < 0)
        return -1;
    struct exec *exec = session->running;
    bool is_other = exec != NULL && exec_id != 0 && exec->id != exec_id;
    if (exec == NULL || exec->question == NULL || is_other) {
        if (exec_id != 0)
            err_set(e, ERR_CONFLICT, "cell %llu does not wait for input",
                    (unsigned long long)exec_id);
        else
            err_set(e, ERR_CONFLICT, "no cell of this session waits for input");
        return err_advise(e, "Send input after an answer whose status is input_required.");
    }
    bool is_rest = session->handed.n_calls > 0;
    *ret_exec = is_rest ? NULL : exec;
    if (is_rest)
        free(take_ptr(exec->question)); /* its clock stands still */
    else
        exec_resume(exec);
    wait_resume(exec, wait);
    head_input(session->head, text, len);
    if (is_rest && session->running == exec)
        handed_answer(exec);
    return 0;
}
