/* Shared mappings of a process that went into another jail. */
#pragma once

/* Each mapping becomes one of the file of the same name here, if that is there and large enough,
 * else memory of its own with what the old one holds now. 0, or -errno: then something may still be
 * shared. */
int mappings_move(void);
