/* Barriers: the answer comes once everything that a session queued before is on disk. Daemon;
 * applied by the store's writer thread. */
#include "store/internal.h"

/* Applied in its turn: everything queued before it is in the same transaction or in an earlier one,
 * and it is delivered once that is on disk. */
static int barrier_apply(struct store *store, struct store_call *call, struct err *e)
{
    return writer_take_failure(store, call->scope, e) ? -1 : 0;
}

static const struct call_type barrier_type = {
    .apply = barrier_apply, .deliver = call_deliver_done, .needs_disk = true};

struct store_call *store_barrier(struct store *store, const char *session, store_done_fn fn,
                                 void *context)
{
    struct store_call *call = call_new(store, &barrier_type, sizeof(*call), session);
    return call_ask(call, (void *)fn, context);
}
