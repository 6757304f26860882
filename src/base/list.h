/* An intrusive doubly linked list: the node sits inside the object, so membership costs nothing
 * and an object can leave the list without knowing which one it is in. */
#pragma once

#include "base/base.h"

struct list {
    struct list *next;
    struct list *prev;
};

#define LIST_INIT(name) ((struct list){&(name), &(name)})

static inline void list_init(struct list *l)
{
    l->next = l->prev = l;
}

static inline bool list_is_empty(const struct list *l)
{
    return l->next == l;
}

static inline void list_append(struct list *l, struct list *node)
{
    node->prev = l->prev;
    node->next = l;
    l->prev->next = node;
    l->prev = node;
}

/* Safe to call twice: a removed node is a list of itself. */
static inline void list_remove(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

/* Appends all of `from`, which is empty afterwards, in its order. */
static inline void list_move_all(struct list *from, struct list *to)
{
    if (list_is_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    list_init(from);
}

static inline struct list *list_first(struct list *l)
{
    return list_is_empty(l) ? NULL : l->next;
}

/* The current node may be removed while walking. */
#define LIST_EACH(l, it)                                                                           \
    for (struct list *it = (l)->next, *it##_next = it->next; it != (l);                            \
         it = it##_next, it##_next = it->next)
