/* The warden process itself. */
#pragma once

#include "jail/warden/jail.h"

/* Serves the daemon on `control` until it goes away, then _exits: as pid 1 of its pid namespace it
 * takes everything it started along. The stage is built, the ids are taken. */
_Noreturn void warden_main(int control, struct jail_factory *factory);
