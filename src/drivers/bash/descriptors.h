/* The user's open descriptors, when the shell is copied. A copy made by fork shares its open files:
 * where one reads the other reads on, a lock that one drops the other holds, and a pipe whose
 * writer is closed does not end while a sleeping copy has it open. So a copy gets open files of its
 * own at the same offsets, and pipes and sockets stay with the shell that had them. */
#pragma once

#include "base/base.h"

/* In the shell that is about to be copied: it may read on before the copy comes to look. */
void descriptors_note_offsets(void);

/* In the copy that goes to sleep. `is_own` tells what is not the user's. */
void descriptors_part(bool (*is_own)(int fd));

/* In a copy that writes the state down: open files are not a part of that. */
void descriptors_note_files(void);

/* In a copy that is about to leave for a room of its own: there its files are those of the same
 * name. */
void descriptors_note_names(bool (*is_own)(int fd));

/* In a copy of a checkpoint that becomes the shell. */
void descriptors_reopen(void);
