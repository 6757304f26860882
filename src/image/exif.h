/* How a photograph is to be turned when it is shown: the one thing in a segment of EXIF that
 * changes what is seen. */
#pragma once

#include "base/base.h"

enum { EXIF_BYTES = 32 };

/* 1 to 8; 0 if it does not say, or is no EXIF. Believes nothing. */
unsigned exif_orientation(const uint8_t *data, size_t len);
/* A segment that says this and nothing else. */
void exif_make(unsigned orientation, uint8_t out[EXIF_BYTES]);
