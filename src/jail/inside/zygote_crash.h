/* What a crash leaves behind. */
#pragma once

#include "base/base.h"

/* From here on, and in all forks, a fatal signal writes its name and the Python stack to stderr
 * before it ends the process: as faulthandler does, without the driver's frames and the names of
 * all extension modules, which are several kilobytes with the data libraries. False if this
 * interpreter does not offer what that takes. */
bool zygote_explain_crashes(void);
