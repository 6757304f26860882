/* One line for each event, to stderr: key=value for people, JSON for programs. Only the top rooms
 * (serve, cli) and the processes' main functions log; everything below returns errors. */
#pragma once

#include "base/base.h"

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

struct log_field {
    const char *key;  /* NULL ends the list */
    const char *text; /* NULL if the value is `number` */
    long long number;
};

#define LOG_TEXT(k, v) ((struct log_field){.key = (k), .text = (v)})
#define LOG_NUM(k, v) ((struct log_field){.key = (k), .number = (long long)(v)})

void log_setup(enum log_level least, enum log_format format);
void log_write(enum log_level level, const char *event, const struct log_field *fields);

#define LOG_AT(level, event, ...)                                                                  \
    log_write(level, event, (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){0}})
#define log_debug(event, ...) LOG_AT(LOG_LEVEL_DEBUG, event __VA_OPT__(, ) __VA_ARGS__)
#define log_info(event, ...) LOG_AT(LOG_LEVEL_INFO, event __VA_OPT__(, ) __VA_ARGS__)
#define log_warn(event, ...) LOG_AT(LOG_LEVEL_WARN, event __VA_OPT__(, ) __VA_ARGS__)
#define log_error(event, ...) LOG_AT(LOG_LEVEL_ERROR, event __VA_OPT__(, ) __VA_ARGS__)
