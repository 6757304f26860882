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
