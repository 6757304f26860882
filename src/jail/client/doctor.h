/* Looks at this machine the only honest way: by doing each thing once, in a child. */
#pragma once

#include "base/base.h"

struct doctor_check {
    const char *name; /* "user namespaces" */
    bool is_ok;
    bool is_required; /* without it no code is run */
    char detail[160]; /* what was found */
    const char *why;  /* why it matters */
    const char *fix;  /* how to get it; "" if there is nothing to do */
};

enum { DOCTOR_CHECKS_MAX = 32 };

size_t doctor_run(struct doctor_check *out, size_t max);
