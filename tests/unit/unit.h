/* What every unit test includes. */
#pragma once

#include "base/base.h"

/* cmocka wants these before itself. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

/* After which something is stuck, on however slow a machine: the limit of every wait for an event.
 */
enum { PATIENCE_MS = 120 * 1000 };
