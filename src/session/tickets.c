/* Who waits for which answer of the warden, in the daemon. Owns the engine's tickets. */
#include "session/tickets.h"

#include "session/engine_state.h"

#include <inttypes.h>

struct ticket {
    bool is_for_all;
    enum warden_event_type type;
    ticket_fn on_event;
    void *context;
};

struct key {
    char text[24];
};

static struct key tickets_key_of(uint64_t number)
{
    struct key key;
    snprintf(key.text, sizeof(key.text), "%" PRIx64, number);
    return key;
}

static void tickets_add(struct engine *engine, uint64_t number, const struct ticket *ticket)
{
    free(map_remove(&engine->tickets, tickets_key_of(number).text));
    map_set(&engine->tickets, tickets_key_of(number).text, mem_copy(ticket, sizeof(*ticket)));
}

void tickets_expect(struct engine *engine, uint64_t number, enum warden_event_type type,
                    ticket_fn on_event, void *context)
{
    tickets_add(engine, number,
                &(struct ticket){.type = type, .on_event = on_event, .context = context});
}

void tickets_expect_all(struct engine *engine, uint64_t number, ticket_fn on_event, void *context)
{
    tickets_add(engine, number,
                &(struct ticket){.is_for_all = true, .on_event = on_event, .context = context});
}

void tickets_forget(struct engine *engine, uint64_t number)
{
    free(map_remove(&engine->tickets, tickets_key_of(number).text));
}

bool tickets_on_event(struct engine *engine, const struct warden_event *event)
{
    /* A room is known by its jail's number until somebody is in it. */
    uint64_t number = event->head != 0 ? event->head : event->jail;
    const struct ticket *found = map_get(&engine->tickets, tickets_key_of(number).text);
    if (found == NULL || (!found->is_for_all && found->type != event->type))
        return false;
    struct ticket ticket = *found;
    if (!ticket.is_for_all)
        tickets_forget(engine, number);
    ticket.on_event(ticket.context, event);
    return true;
}

void tickets_free(struct engine *engine)
{
    size_t at = 0;
    const char *key;
    void *ticket;
    while (map_next(&engine->tickets, &at, &key, &ticket))
        free(ticket);
    map_free(&engine->tickets);
}
