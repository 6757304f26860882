/* libarchive, loaded by the box that reads an archive and by nobody else: it brings a dozen
 * libraries along, which every start of the program would pay for. */
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <stdbool.h>

#define ARCHIVE_LIB_EACH(F)                                                                        \
    F(archive_entry_filetype)                                                                      \
    F(archive_entry_hardlink)                                                                      \
    F(archive_entry_hardlink_utf8)                                                                 \
    F(archive_entry_is_encrypted)                                                                  \
    F(archive_entry_mtime)                                                                         \
    F(archive_entry_pathname)                                                                      \
    F(archive_entry_pathname_utf8)                                                                 \
    F(archive_entry_size)                                                                          \
    F(archive_entry_size_is_set)                                                                   \
    F(archive_entry_symlink)                                                                       \
    F(archive_entry_symlink_utf8)                                                                  \
    F(archive_errno)                                                                               \
    F(archive_error_string)                                                                        \
    F(archive_filter_code)                                                                         \
    F(archive_filter_count)                                                                        \
    F(archive_format)                                                                              \
    F(archive_read_data)                                                                           \
    F(archive_read_free)                                                                           \
    F(archive_read_new)                                                                            \
    F(archive_read_next_header)                                                                    \
    F(archive_read_open1)                                                                          \
    F(archive_read_set_callback_data)                                                              \
    F(archive_read_set_read_callback)                                                              \
    F(archive_read_set_seek_callback)                                                              \
    F(archive_read_set_skip_callback)                                                              \
    F(archive_read_support_filter_bzip2)                                                           \
    F(archive_read_support_filter_gzip)                                                            \
    F(archive_read_support_filter_xz)                                                              \
    F(archive_read_support_filter_zstd)                                                            \
    F(archive_read_support_format_7zip)                                                            \
    F(archive_read_support_format_raw)                                                             \
    F(archive_read_support_format_tar)                                                             \
    F(archive_read_support_format_zip)

struct archive_lib {
#define MEMBER(name) __typeof__(&(name)) name;
    ARCHIVE_LIB_EACH(MEMBER)
#undef MEMBER
};

extern struct archive_lib archive_lib;

/* Once, before anything of it is used; again is harmless. False if it is not there. */
bool archive_lib_load(void);
