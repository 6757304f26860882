/* Denied system calls, told once each. Daemon; owns the list of a session's. */
#include "runtime/denials.h"

#include "runtime/head.h"

struct denials {
    struct denied *denied;
    struct list heads; /* of struct head, by denials_node */
    unsigned n_holds;
};

static struct head *only_one(const struct denials *denials, bool has_cell)
{
    struct head *found = NULL;
    LIST_EACH(&denials->heads, node) {
        struct head *head = CONTAINER_OF(node, struct head, denials_node);
        if (has_cell && head->state != HEAD_RUNNING)
            continue;
        if (found != NULL)
            return NULL;
        found = head;
    }
    return found;
}

static void on_denied(void *context, const char *call)
{
    struct denials *denials = context;
    struct head *head = only_one(denials, false);
    if (head == NULL)
        head = only_one(denials, true);
    if (head != NULL)
        head->listener->on_denied(head, call);
}

struct denials *denials_new(uv_loop_t *loop, int listener, uint64_t network)
{
    struct denials *denials = mem_alloc(sizeof(*denials));
    denials->denied = denied_new(loop, listener, network, on_denied, denials);
    if (denials->denied == NULL) {
        free(denials);
        return NULL;
    }
    list_init(&denials->heads);
    denials->n_holds = 1;
    return denials;
}

struct denials *denials_hold(struct denials *denials)
{
    if (denials != NULL)
        denials->n_holds++;
    return denials;
}

void denials_drop(struct denials *denials)
{
    if (denials == NULL || --denials->n_holds > 0)
        return;
    denied_free(denials->denied);
    free(denials);
}

void denials_join(struct denials *denials, struct head *head)
{
    list_append(&denials->heads, &head->denials_node);
}
