/* Answers of the warden that belong to no interpreter: the caller that gives an order with a number
 * leaves word here who is to hear of it. */
#pragma once

#include "jail/warden.h"
#include "session/engine.h"

typedef void (*ticket_fn)(void *context, const struct warden_event *event);

/* Expects the next event of this type; `number` is of pool_new_number, or that of a head. */
void tickets_expect(struct engine *engine, uint64_t number, enum warden_event_type type,
                    ticket_fn on_event, void *context);
/* Expects all events, until tickets_forget. */
void tickets_expect_all(struct engine *engine, uint64_t number, ticket_fn on_event, void *context);
void tickets_forget(struct engine *engine, uint64_t number); /* legal if none is expected */
bool tickets_on_event(struct engine *engine, const struct warden_event *event);
void tickets_free(struct engine *engine);
