/* Shared mappings of a process that went into another jail. */
#pragma once

/* Before it goes, while names still say where a file is. Needs a process that may read its own
 * /proc. 0 or -errno. */
int mappings_note(void);

/* In the other jail: each mapping becomes one of the file of the same name, if that is there and
 * large enough, else memory of its own with what the old one holds now. 0, or -errno: then
 * something may still be shared. */
int mappings_move(void);
