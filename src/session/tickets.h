/* Answers of the warden that belong to no interpreter: whoever gives an order that has a number
 * leaves word here who is to hear of it. */
#pragma once

#include "jail/warden.h"
#include "session/engine.h"

typedef void (*ticket_fn)(void *context, const struct warden_event *event);

/* Of the next event of this type; `number` is of pool_new_number, or that of a head. */
void tickets_expect(struct engine *engine, uint64_t number, enum warden_event_type type,
                    ticket_fn on_event, void *context);
/* Of all events, until they are forgotten. */
void tickets_expect_all(struct engine *engine, uint64_t number, ticket_fn on_event, void *context);
void tickets_forget(struct engine *engine, uint64_t number); /* also one that nobody expects */
bool tickets_on_event(struct engine *engine, const struct warden_event *event);
void tickets_free(struct engine *engine);
