/* Telling the daemon, finding jails and inmates, slots. Warden; owns the slots. */
#include "jail/warden/prison.h"

#include "base/fd.h"
#include "jail/warden/image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

enum {
    OVERFLOW_ID = 65534, /* what the kernel shows for an id that is not mapped */
    FOREIGN_TRIES = 100,
};

struct prison prison;

int prison_tell_with(const struct report *report, const char *text, int fd)
{
    char message[sizeof(*report) + MESSAGE_TEXT_MAX];
    struct report head = *report;
    size_t len = MIN(strlen(text), (size_t)MESSAGE_TEXT_MAX);
    head.text_len = (uint32_t)len;
    memcpy(message, &head, sizeof(head));
    memcpy(message + sizeof(head), text, len);
    ssize_t n = fd_send(prison.control, message, sizeof(head) + len, &fd, fd >= 0 ? 1 : 0);
    if (n == -ETOOMANYREFS)
        return (int)n;
    if (n < 0)
        _exit(0); /* the daemon is gone, and with us goes all that it had */
    return 0;
}

void prison_tell(const struct report *report, const char *text)
{
    prison_tell_with(report, text, -1);
}

void prison_tell_refused(uint64_t jail, uint64_t head, const char *why)
{
    prison_tell(&(struct report){.type = WARDEN_REFUSED, .jail = jail, .head = head}, why);
}

struct prison_key prison_key(uint64_t number)
{
    struct prison_key key;
    snprintf(key.text, sizeof(key.text), "%llu", (unsigned long long)number);
    return key;
}

struct jail *prison_find_jail(uint64_t id)
{
    return map_get(&prison.jails_by_id, prison_key(id).text);
}

struct inmate *prison_find_inmate(uint64_t head)
{
    return map_get(&prison.inmates_by_head, prison_key(head).text);
}

/* New ones first: the files of a workspace that was kept belong to the user of its slot. */
uint32_t prison_take_slot(void)
{
    return prison.next_slot < SLOTS_MAX ? prison.next_slot++
                                        : prison.free_slots[--prison.n_free_slots];
}

bool prison_has_slot(void)
{
    return prison.n_free_slots > 0 || prison.next_slot < SLOTS_MAX;
}

/* That one, if nobody has it. */
bool prison_take_this_slot(uint32_t slot)
{
    if (slot >= SLOTS_MAX)
        return false;
    for (; prison.next_slot <= slot; prison.next_slot++)
        prison.free_slots[prison.n_free_slots++] = prison.next_slot;
    for (size_t i = prison.n_free_slots; i-- > 0;) {
        if (prison.free_slots[i] != slot)
            continue;
        prison.free_slots[i] = prison.free_slots[--prison.n_free_slots];
        return true;
    }
    return false;
}

void prison_give_slot(uint32_t slot)
{
    prison.free_slots[prison.n_free_slots++] = slot;
}

/* The owner is an id that we had once and have no more: the range of an ordinary user is another
 * one or gone. Nobody but root can remove the files then, so they make room; the session gets those
 * that were saved. With the old range back they are leftovers like others. Not to another
 * directory, which only who may write to the moved one is allowed. */
static bool set_foreign_aside(int workspaces, const char *name)
{
    static unsigned number;
    char to[sizeof(".foreign-") + NAME_MAX + 16];
    int r = -1;
    for (int tries = 0; r < 0 && tries < FOREIGN_TRIES; tries++) {
        snprintf(to, sizeof(to), ".foreign-%.200s-%u", name, number++);
        r = renameat2(workspaces, name, workspaces, to, RENAME_NOREPLACE);
    }
    return r == 0;
}

/* Workspaces that were kept have their slots' users: new jails begin above them all. */
void prison_pass_over_kept_slots(void)
{
    size_t n_foreign = 0;
    int fd = openat(prison.factory->workspaces, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    struct stat st;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.' ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (st.st_uid == OVERFLOW_ID && set_foreign_aside(dirfd(dir), entry->d_name)) {
            n_foreign++;
            continue;
        }
        uint32_t slot = jail_slot_of(prison.factory, st.st_uid);
        if (slot >= prison.next_slot && prison_take_this_slot(slot))
            prison_give_slot(slot);
    }
    if (dir != NULL)
        closedir(dir);
    if (n_foreign > 0) {
        char *note = prison.factory->id_note;
        size_t len = strlen(note), size = sizeof(prison.factory->id_note);
        snprintf(
            note + len, size - len,
            "%s%zu workspaces belong to ids that this user had once: the files of these sessions "
            "are as they were last saved",
            len > 0 ? "; " : "", n_foreign);
    }
}
