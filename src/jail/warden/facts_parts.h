/* What the files of jail/warden/facts.h share. */
#pragma once

#include "base/base.h"

#define FACTS_DIR "/facts"                    /* in the stage: the pages */
#define FACTS_SHARED JAIL_LIB "/surroundings" /* in the image: what all jails have in common */

/* Processors of the machine, as far as they are shown to anybody. */
uint32_t facts_count_cpus(void);
