/* What scale.h promises, for one format each. */
#pragma once

#include "image/scale.h"

/* A picture that is there as a whole before its first row is, interlaced or in several scans. */
#define CODEC_WHOLE_PIXELS_MAX ((uint64_t)32 * 1024 * 1024)

enum scale_end codec_scale_png(const struct scale_io *io, const struct scale_limits *limits);
enum scale_end codec_scale_jpeg(const struct scale_io *io, const struct scale_limits *limits);
