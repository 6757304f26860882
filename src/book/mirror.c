#include "book/state.h"

void mirror_changed(struct book *book)
{
    (void)book;
}

void mirror_stop(struct book *book)
{
    (void)book;
}
