/* What stands in a namespace of Python's, without touching it. */
#pragma once

/* Bytes, an object of Python's: three words for each item of the dict, in its order, that say where
 * the key, the value and the type of the value lie. Python could list them too, but would count a
 * reference to each meanwhile, and so write to pages that sessions share. NULL if an exception is
 * set. With the GIL; only where an object begins with its count and its type. */
void *zygote_identities_of(void *dict);
