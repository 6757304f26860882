/* Zygotes, and the interpreters that they fork into jails. */
#include "jail/warden/prison.h"
#include "jail/warden/zygote.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

enum { ERRORS_SHOWN = 4096 };

struct zygote *prison_find_zygote(uint32_t id)
{
    LIST_EACH(&prison.zygotes, at) {
        struct zygote *z = CONTAINER_OF(at, struct zygote, link);
        if (z->id == id)
            return z;
    }
    return NULL;
}

/* With no fork under way, an unknown pid can only be a stray of a zygote's imports: forgetting it
 * keeps a later head with the same pid from being taken for dead. */
static void fork_answered(struct inmate *i)
{
    list_remove(&i->owed);
    if (!list_is_empty(&prison.owed))
        return;
    size_t at = 0;
    const char *key;
    void *status;
    while (map_next(&prison.early_exits, &at, &key, &status))
        free(status);
    map_free(&prison.early_exits);
}

void prison_enter(const struct request *r, int session_sock)
{
    struct err e;
    struct zygote *z = prison_find_zygote(r->zygote);
    if (z == NULL || !z->is_ready) {
        prison_tell_refused(r->jail, r->head, "the interpreter for this profile is not running");
        return;
    }
    if (prison_hand_over(r, session_sock))
        return;
    struct jail *j = prison_jail_for(r, &e);
    if (j == NULL) {
        prison_tell_refused(r->jail, r->head, e.message);
        return;
    }
    struct inmate *i = prison_add_inmate(j, r);
    list_append(&prison.owed, &i->owed);
    int asked = session_sock < 0 ? -ETOOMANYREFS
                                 : zygote_ask_fork(z, prison.factory, j, i->head, session_sock);
    if (asked < 0) {
        fork_answered(i);
        prison_refuse(i, asked == -ETOOMANYREFS
                             ? "the kernel passes no more descriptors on for the daemon's user"
                             : "the zygote does not answer");
    }
}

void prison_start_zygote(const struct request *r, const char *text, const char *end)
{
    struct err e = {0};
    struct zygote *z = NULL;
    const char *argv[ZYGOTE_ARGS_MAX + 1] = {""};
    size_t n = 0;
    for (const char *at = text; at < end && n < ZYGOTE_ARGS_MAX; at += strlen(at) + 1)
        argv[n++] = at;
    int failed = prison.n_zygotes == ZYGOTES_MAX
                     ? err_set(&e, ERR_LIMIT, "too many profiles are in use")
                     : zygote_start(r->zygote, argv, prison.factory->filter, &z, &e);
    if (failed) {
        prison_tell(&(struct report){.type = WARDEN_ZYGOTE_EXITED, .zygote = r->zygote}, e.message);
        return;
    }
    list_append(&prison.zygotes, &z->link);
    prison.n_zygotes++;
}

static void inmate_entered(struct inmate *i, pid_t pid)
{
    struct jail *j = i->jail;
    i->pid = pid;
    j->was_inhabited = true;
    map_set(&prison.inmates_by_pid, prison_key((uint64_t)pid).text, i);
    int *early = map_remove(&prison.early_exits, prison_key((uint64_t)pid).text);
    fork_answered(i);
    if (j->is_ending)
        kill(pid, SIGKILL); /* its init may be alive, for the rooms below */
    else
        prison_tell(
            &(struct report){.type = WARDEN_ENTERED, .jail = j->id, .head = i->head, .pid = pid},
            "");
    if (early != NULL)
        prison_inmate_exited(i, *early);
    free(early);
}

static void zygote_answered(const struct zygote_forked *answer)
{
    struct inmate *i = prison_find_inmate(answer->head);
    if (i == NULL || i->pid != 0)
        return;
    if (answer->errnum == 0) {
        inmate_entered(i, answer->pid);
        return;
    }
    char why[128];
    snprintf(why, sizeof(why), "the zygote cannot fork: %s", strerror(answer->errnum));
    fork_answered(i);
    prison_refuse(i, why);
}

void prison_read_zygote(struct zygote *z)
{
    char message[MESSAGE_TEXT_MAX];
    ssize_t n = recv(z->sock, message, sizeof(message) - 1, MSG_DONTWAIT);
    if (n <= 0)
        return; /* its end is told by its exit status */
    if (!z->is_ready) {
        message[n] = '\0';
        z->is_ready = true;
        prison_tell(&(struct report){.type = WARDEN_ZYGOTE_READY, .zygote = z->id}, message);
    } else if (n == (ssize_t)sizeof(struct zygote_forked)) {
        struct zygote_forked answer;
        memcpy(&answer, message, sizeof(answer));
        zygote_answered(&answer);
    }
}

void prison_zygote_exited(struct zygote *z, int status)
{
    LIST_EACH(&prison.owed, at) {
        struct inmate *i = CONTAINER_OF(at, struct inmate, owed);
        if (i->zygote != z->id)
            continue;
        fork_answered(i);
        prison_refuse(i, "the zygote ended");
    }
    char errors[ERRORS_SHOWN];
    zygote_read_errors(z, errors, sizeof(errors));
    prison_tell(&(struct report){.type = WARDEN_ZYGOTE_EXITED, .zygote = z->id, .status = status},
                errors);
    z->pid = 0;
    prison.n_zygotes--;
    zygote_free(z);
}
