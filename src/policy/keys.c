/* The API key: made once, read and checked with the file that holds it. Daemon at its start; the
 * command line tool reads it. */
#include "policy/keys.h"

#include "base/fd.h"
#include "base/ids.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static int keys_refuse(struct err *e, const char *why)
{
    err_set(e, ERR_FORBIDDEN, "the key file is not used: %s", why);
    return err_advise(e,
                      "Remove the file \"%s\" in the data directory; a new key is made at the "
                      "next start.",
                      KEYS_FILE);
}

/* Whoever could have read or written the file might know the key. */
static int keys_check_file(int fd, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_errno(e, ERR_INTERNAL, errno, "looking at the key file");
    if (!S_ISREG(st.st_mode))
        return keys_refuse(e, "it is not a regular file");
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return keys_refuse(e, "it belongs to another user");
    if ((st.st_mode & 077) != 0)
        return keys_refuse(e, "other users may read it; its mode must be 0600");
    return 0;
}

static int read_key(int fd, char ret_key[KEYS_SIZE], struct err *e)
{
    char text[KEYS_SIZE + 3]; /* a line end, and one byte more to notice what is too long */
    size_t len = 0;
    while (len < sizeof(text) - 1) {
        ssize_t n = read(fd, text + len, sizeof(text) - 1 - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(e, ERR_INTERNAL, errno, "reading the key file");
        if (n == 0)
            break;
        len += (size_t)n;
    }
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        len--;
    text[len] = '\0';
    if (len < KEYS_LENGTH_MIN || len > KEYS_LENGTH_MAX)
        return keys_refuse(e, "its one line must have 32 to 128 characters");
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return keys_refuse(e, "it has characters that cannot be sent in a header");
    memcpy(ret_key, text, len + 1);
    return 0;
}

int keys_read(int data_dir_fd, char ret_key[KEYS_SIZE], struct err *e)
{
    /* Not blocking: the name may have become a FIFO. */
    _fd_ int fd =
        openat(data_dir_fd, KEYS_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ELOOP)
        return keys_refuse(e, "it is a symbolic link");
    if (fd < 0)
        return err_errno(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_FORBIDDEN, errno,
                         "opening the key file");
    if (keys_check_file(fd, e) < 0)
        return -1;
    return read_key(fd, ret_key, e);
}

/* A full name appears at once and never replaces another: a crash leaves no half-written key, and
 * of two daemons that start together both use the first one's. */
static int publish_key(int data_dir_fd, const char *temporary, const char *line)
{
    _fd_ int fd = openat(data_dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int r = fd_write_all(fd, line, strlen(line));
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    if (r == 0 && linkat(data_dir_fd, temporary, data_dir_fd, KEYS_FILE, 0) < 0 && errno != EEXIST)
        r = -errno;
    unlinkat(data_dir_fd, temporary, 0);
    return r;
}

static int make_key(int data_dir_fd, struct err *e)
{
    char key[TOKEN_SIZE], id[UUID_SIZE], line[TOKEN_SIZE + 1], temporary[UUID_SIZE + 8];
    ids_token(key);
    ids_uuid(id);
    snprintf(line, sizeof(line), "%s\n", key);
    snprintf(temporary, sizeof(temporary), ".key-%s", id);
    int r = publish_key(data_dir_fd, temporary, line);
    if (r == 0)
        return 0;
    err_errno(e, ERR_UNAVAILABLE, r, "making the key file");
    return err_advise(e, "The data directory must be writable and have space left.");
}

int keys_ensure(int data_dir_fd, char ret_key[KEYS_SIZE], struct err *e)
{
    if (keys_read(data_dir_fd, ret_key, e) == 0)
        return 0;
    if (e->code != ERR_NOT_FOUND || make_key(data_dir_fd, e) < 0)
        return -1;
    return keys_read(data_dir_fd, ret_key, e);
}

bool keys_match(const char *key, const char *header, size_t header_len)
{
    static const char scheme[] = "bearer ";
    const size_t scheme_len = sizeof(scheme) - 1;
    if (header_len <= scheme_len || strncasecmp(header, scheme, scheme_len) != 0)
        return false;
    while (header_len > scheme_len && header[header_len - 1] == ' ')
        header_len--;
    char given[KEYS_SIZE];
    size_t len = header_len - scheme_len;
    if (len >= sizeof(given) || memchr(header, '\0', header_len) != NULL)
        return false;
    memcpy(given, header + scheme_len, len);
    given[len] = '\0';
    return ids_equal_secret(given, key);
}
