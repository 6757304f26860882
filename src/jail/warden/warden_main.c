/* The warden's loop: requests of the daemon, ends of children, what is due. Owns the one prison. */
#include "jail/warden/warden_main.h"

#include "base/clock.h"
#include "base/fd.h"
#include "jail/warden/branch.h"
#include "jail/warden/keeper.h"
#include "jail/warden/prison.h"
#include "jail/warden/zygote.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

enum {
    SPARE_AFTER_MS = 5, /* of quiet: who asks now goes first */
    REAPED_PER_TURN = 256,
};

static void reaped(pid_t pid, int status)
{
    /* It asked to be traced by its parent, and waits for us at its next signal. It would be ours
     * to let go on: it is ended instead, and then reaped like any other. */
    if (WIFSTOPPED(status)) {
        kill(pid, SIGKILL);
        return;
    }
    if (pid == prison.keeper_pid)
        _exit(1); /* without its keeper no quota holds */
    if (relay_reaped(&prison.relay, pid) || prison_handover_ended(pid, status))
        return;
    struct inmate *i = map_get(&prison.inmates_by_pid, prison_key((uint64_t)pid).text);
    if (i != NULL) {
        prison_inmate_exited(i, status);
        return;
    }
    struct jail *j = map_remove(&prison.jails_by_init, prison_key((uint64_t)pid).text);
    if (j != NULL) {
        prison_end_clearings(j);
        j->init_pid = 0;
        list_remove(&j->expected);
        prison_settle(j);
        return;
    }
    LIST_EACH(&prison.zygotes, at) {
        struct zygote *z = CONTAINER_OF(at, struct zygote, link);
        if (z->pid == pid) {
            prison_zygote_exited(z, status);
            return;
        }
    }
    if (list_is_empty(&prison.owed))
        return;
    int *kept = mem_copy(&status, sizeof(status));
    map_set(&prison.early_exits, prison_key((uint64_t)pid).text, kept);
}

static void reap_some(void)
{
    struct signalfd_siginfo info;
    while (read(prison.signals, &info, sizeof(info)) > 0)
        ;
    /* A session can make children of ours (CLONE_PARENT) as fast as we reap them. */
    int n = 0, status;
    pid_t pid;
    while (n++ < REAPED_PER_TURN && (pid = waitpid(-1, &status, WNOHANG)) > 0)
        reaped(pid, status);
    prison.has_more_exits = n > REAPED_PER_TURN;
}

static void obey_for_jail(const struct request *r)
{
    struct jail *j = prison_find_jail(r->jail);
    if (j == NULL && r->type == REQUEST_DESTROY)
        prison_give_up_handover(r->jail, r->number != 0);
    if (j == NULL || (j->is_being_built && r->type != REQUEST_DESTROY))
        return; /* it ended by itself, or is none yet; the daemon's event is on its way */
    if (r->type == REQUEST_WATCH) {
        prison_watch(j, r->number != 0);
    } else if (r->type == REQUEST_TERMINATE) {
        prison_terminate(j);
    } else if (r->type == REQUEST_DESTROY) {
        j->keeps_workspace = r->number != 0;
        prison_end_jail(j);
    }
}

static void read_control(void)
{
    static char message[sizeof(struct request) + MESSAGE_TEXT_MAX + 1];
    int given = -1;
    size_t n_fds = 0;
    ssize_t n = fd_recv(prison.control, message, sizeof(message) - 1, &given, 1, &n_fds);
    if (n < (ssize_t)sizeof(struct request))
        _exit(0); /* the daemon is gone */
    message[n] = '\0';
    struct request r;
    memcpy(&r, message, sizeof(r));
    r.workspace[WORKSPACE_NAME_MAX - 1] = '\0';
    if (r.type == REQUEST_ENTER) {
        prison_enter(&r, given);
    } else if (r.type == REQUEST_ZYGOTE_START) {
        prison_start_zygote(&r, message + sizeof(r), message + n);
    } else if (r.type == REQUEST_ZYGOTE_STOP) {
        struct zygote *z = prison_find_zygote(r.zygote);
        if (z != NULL)
            kill(z->pid, SIGKILL);
    } else if (r.type == REQUEST_SIGNAL) {
        struct inmate *i = prison_find_inmate(r.head);
        if (i != NULL)
            prison_signal(i, r.number);
    } else if (r.type == REQUEST_ADOPT) {
        prison_adopt(&r, given);
    } else if (r.type == REQUEST_ROOM) {
        prison_make_room(&r);
    } else if (r.type == REQUEST_CLEAR) {
        prison_clear(&r);
    } else if (r.type == REQUEST_LOOK) {
        prison_look(&r);
    } else if (r.type == REQUEST_SOCKET) {
        prison_make_socket(&r);
    } else if (r.type == REQUEST_WEIGH) {
        prison_weigh(&r);
    } else if (r.type == REQUEST_MEASURE) {
        prison_measure(&r);
    } else if (r.type == REQUEST_REMOVE) {
        prison_remove_workspace(&r);
    } else if (r.type == REQUEST_RECORD || r.type == REQUEST_RESTORE) {
        relay_order(&prison.relay, &r, NULL, -1);
    } else if (r.type == REQUEST_FILE) {
        struct warden_file_order file = {0};
        memcpy(&file, message + sizeof(r), MIN((size_t)n - sizeof(r), sizeof(file)));
        relay_order(&prison.relay, &r, &file, given);
    } else {
        obey_for_jail(&r);
    }
    if (n_fds > 0)
        close(given);
}

/* Until the next thing that has to be done without being asked. */
static int patience_ms(void)
{
    if (!list_is_empty(&prison.clearings) || prison.has_more_exits)
        return 0;
    int64_t left_ms = prison_remove_busy_groups();
    int64_t tracers_ms = prison_end_tracers();
    if (tracers_ms >= 0)
        left_ms = left_ms < 0 ? tracers_ms : MIN(left_ms, tracers_ms);
    if (prison_needs_spare())
        left_ms = left_ms < 0 ? SPARE_AFTER_MS : MIN(left_ms, (int64_t)SPARE_AFTER_MS);
    struct list *oldest = list_first(&prison.makings);
    if (oldest != NULL) {
        uint64_t until = CONTAINER_OF(oldest, struct branch_making, link)->until_ms;
        int64_t late_ms = (int64_t)(until - MIN(until, clock_mono_ms()));
        left_ms = left_ms < 0 ? late_ms : MIN(left_ms, late_ms);
    }
    return (int)left_ms;
}

enum { CONTROL, SIGNALS, KEEPER, RELAY, FIRST_ZYGOTE };

static short wanted_of(const struct outbox *box)
{
    return box->n_waiting > 0 && !box->is_stuck ? POLLIN | POLLOUT : POLLIN;
}

static bool can_flush(const struct outbox *box, short events)
{
    return box->n_waiting > 0 && ((events & POLLOUT) || box->is_stuck);
}

/* Which of them is stuck does not matter: there are few, and it is tried again soon. */
static bool is_any_stuck(void)
{
    bool is_stuck = prison.to_keeper.is_stuck || prison.relay.out.is_stuck;
    LIST_EACH(&prison.zygotes, at)
        is_stuck |= CONTAINER_OF(at, struct zygote, link)->out.is_stuck;
    return is_stuck;
}

static void take_turn(void)
{
    struct pollfd waits[FIRST_ZYGOTE + ZYGOTES_MAX + MAKINGS_MAX] = {
        [CONTROL] = {.fd = prison.control, .events = POLLIN},
        [SIGNALS] = {.fd = prison.signals, .events = POLLIN},
        [KEEPER] = {.fd = prison.to_keeper.sock, .events = wanted_of(&prison.to_keeper)},
        /* -1 is passed over */
        [RELAY] = {.fd = prison.relay.sock, .events = wanted_of(&prison.relay.out)},
    };
    struct zygote *zygotes[ZYGOTES_MAX];
    struct branch_making *makings[MAKINGS_MAX];
    nfds_t n_zygotes = 0, n_makings = 0;
    LIST_EACH(&prison.zygotes, at) {
        zygotes[n_zygotes] = CONTAINER_OF(at, struct zygote, link);
        waits[FIRST_ZYGOTE + n_zygotes] = (struct pollfd){
            .fd = zygotes[n_zygotes]->sock, .events = wanted_of(&zygotes[n_zygotes]->out)};
        n_zygotes++;
    }
    struct pollfd *rooms = waits + FIRST_ZYGOTE + n_zygotes;
    LIST_EACH(&prison.makings, at) {
        makings[n_makings] = CONTAINER_OF(at, struct branch_making, link);
        rooms[n_makings] = (struct pollfd){.fd = makings[n_makings]->sync, .events = POLLIN};
        n_makings++;
    }
    int patience = patience_ms();
    if (is_any_stuck() && (patience < 0 || patience > OUTBOX_STUCK_MS))
        patience = OUTBOX_STUCK_MS;
    int ready = poll(waits, FIRST_ZYGOTE + n_zygotes + n_makings, patience);
    if (ready < 0)
        return;
    if (ready == 0 && patience != 0 && prison_needs_spare())
        prison_make_spare();
    /* Zygotes and rooms before exits: a child's pid should be known before its end is. */
    for (nfds_t i = 0; i < n_zygotes; i++) {
        if (can_flush(&zygotes[i]->out, waits[FIRST_ZYGOTE + i].revents))
            outbox_flush(&zygotes[i]->out); /* if it has ended, its exit status tells */
        if (waits[FIRST_ZYGOTE + i].revents & POLLIN)
            prison_read_zygote(zygotes[i]);
    }
    for (nfds_t i = 0; i < n_makings; i++)
        if (rooms[i].revents)
            prison_read_making(makings[i]);
    prison_end_late_makings();
    if (waits[SIGNALS].revents || prison.has_more_exits)
        reap_some();
    if (can_flush(&prison.to_keeper, waits[KEEPER].revents))
        prison_flush_keeper();
    if (waits[KEEPER].revents & ~POLLOUT)
        prison_read_keeper();
    if (can_flush(&prison.relay.out, waits[RELAY].revents) && prison.relay.sock >= 0)
        relay_flush(&prison.relay);
    if ((waits[RELAY].revents & ~POLLOUT) && prison.relay.sock >= 0)
        relay_read(&prison.relay);
    prison_go_on_clearing();
    if (waits[CONTROL].revents)
        read_control();
}

_Noreturn void warden_main(int control, struct jail_factory *factory)
{
    prctl(PR_SET_NAME, "cella-warden");
    prison.control = control;
    prison.factory = factory;
    list_init(&prison.jails);
    list_init(&prison.spares);
    list_init(&prison.zygotes);
    list_init(&prison.makings);
    list_init(&prison.owed);
    list_init(&prison.clearings);
    list_init(&prison.expected_ends);
    list_init(&prison.expected_rooms);
    list_init(&prison.busy_groups);
    list_init(&prison.handovers);
    factory->on_busy_group = prison_keep_busy_group;
    prison.free_slots = mem_alloc(SLOTS_MAX * sizeof(*prison.free_slots));
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_SETMASK, &set, NULL);
    prison.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (prison.signals < 0)
        _exit(1);
    keeper_set_leftovers_aside(factory->workspaces);
    prison_pass_over_kept_slots();
    prison_start_keeper();
    relay_init(&prison.relay, factory->workspaces, factory->blobs, prison_tell);
    prison_tell(&(struct report){.type = REPORT_STARTED}, factory->id_note);
    for (;;)
        take_turn();
}
