/* jail: the sandbox. Promises: no code of a session runs before every wall around it stands; if a
 * wall cannot be built the session is refused; when a jail ends, or the daemon does, every process
 * in it is gone. Owns the warden process and everything below it. May call wire, loop, blob and
 * base.
 *
 * This header is the daemon's side. The warden is a small C process in a user namespace of its own
 * (pid 1 of its own pid namespace, so that its end is the end of everything it started). It makes
 * and destroys jails, starts zygotes, lets interpreters walk in, signals them, reaps them and
 * reports. All calls return at once; what came of them arrives as events. When it ends, its parent,
 * the guardian, starts another: until WARDEN_BACK all calls fail with ERR_UNAVAILABLE. */
#pragma once

#include "base/err.h"
#include "jail/spec.h"

#include <sys/types.h>
#include <time.h>

typedef struct uv_loop_s uv_loop_t;
struct warden;

enum warden_event_type {
    WARDEN_ZYGOTE_READY,  /* zygote, text: the JSON report that the zygote wrote about itself */
    WARDEN_ZYGOTE_EXITED, /* zygote, status, text: the end of what it wrote to stderr */
    WARDEN_ENTERED,       /* jail, head, pid: an interpreter walked in; it speaks on its socket.
                             Of an adopted checkpoint also bytes: the anonymous memory of the
                             jail; and others */
    WARDEN_ROOM,          /* jail, fd: the key of a room that was asked for; yours to close */
    WARDEN_REFUSED,       /* jail, head, text: no interpreter, nothing of it is left; and no jail,
                             unless others have walked into it */
    WARDEN_EXITED,        /* jail, head, pid, status; oom_kills, peak_bytes and pids_refused unless
                             it was a checkpoint or a saver that ended by itself */
    WARDEN_SIGNALED,      /* jail, head: a signal that was asked for is on its way */
    WARDEN_CLEARED,       /* jail, head, bytes: how many processes besides the head were ended;
                             text: empty, or why the jail had to be ended as a whole */
    WARDEN_MEASURED,      /* head, bytes: private memory of that process; 0 if it is gone */
    WARDEN_LOOKED,        /* head: the ticket; others, ticks */
    WARDEN_WEIGHED,       /* head: the ticket; bytes, cpu_us */
    WARDEN_OVER_QUOTA,    /* jail, bytes: /workspace is over its limit; writes fail now;
                             text: empty, or what besides bytes it is over */
    WARDEN_GONE,          /* jail: destroyed; processes, cgroup and workspace are gone */
    WARDEN_RECORDED,      /* head: the ticket; text: JSON, see warden_record */
    WARDEN_RESTORED,      /* head: the ticket; text: JSON, see warden_restore */
    WARDEN_FILED,         /* head: the ticket; text: JSON, see warden_file */
    WARDEN_SOCKET, /* head: the ticket; fd: yours to close, or -1 and text: why there is none */
    WARDEN_LOST,   /* text: the warden itself ended, and with it all jails and zygotes. Comes
                      a second time, with is_final, if there will be no other */
    WARDEN_BACK,   /* text: there is a new one, which knows of nothing yet */
};

struct warden_event {
    enum warden_event_type type;
    uint32_t zygote;
    uint64_t jail;
    uint64_t head;
    pid_t pid;             /* in the warden's pid namespace: a name, not for kill() */
    int status;            /* as waitpid gives it */
    uint32_t oom_kills;    /* in this jail so far */
    uint32_t pids_refused; /* forks that the jail's limit refused so far; 0 if not counted */
    uint64_t peak_bytes;   /* the most memory that the jail has used; 0 if not counted */
    uint64_t bytes;
    uint32_t others;  /* in the jail besides ours: processes that a session started, and left; after
                         warden_look also threads of ours besides their first */
    uint64_t ticks;   /* of the processor that all in the jail have used so far */
    uint64_t cpu_us;  /* WEIGHED: likewise, also by those that have ended where cgroups count */
    bool is_final;    /* LOST: no code can run any more */
    int fd;           /* ROOM, SOCKET; else -1 */
    const char *text; /* valid during the callback; never NULL */
};

typedef void (*warden_on_event)(void *context, const struct warden_event *event);

struct warden_config {
    const char *data_dir;              /* absolute; workspaces are made in data_dir/workspaces */
    const char *const *read_only_dirs; /* NULL-terminated: shown in jails beside the system's */
};

/* Forks the warden. Call before the loop and before any thread exists. As root this builds what
 * only root may build (the id range, the cgroup); the caller drops its privilege afterwards with
 * warden_drop_privilege, which is a no-op for an ordinary user. */
int warden_start(const struct warden_config *config, struct warden **ret_warden, struct err *e);
/* What is to be told of the host ids of sessions: "", or why they have none of their own. */
const char *warden_id_note(const struct warden *w);
int warden_drop_privilege(const struct warden *w, struct err *e);
void warden_attach(struct warden *w, uv_loop_t *loop, warden_on_event on_event, void *context);
void warden_free(struct warden *w); /* ends the warden and waits until all jails are gone */

/* Starts a zygote: the program argv[0], an absolute path, with a NULL-terminated list of arguments.
 * The caller chooses the number. */
int warden_start_zygote(struct warden *w, uint32_t zygote, const char *const *argv, struct err *e);
int warden_stop_zygote(struct warden *w, uint32_t zygote, struct err *e);

/* Makes a jail with workspace data_dir/workspaces/NAME and lets a fork of the zygote walk in: a
 * head, which will speak on `session_sock` (the caller keeps ownership of its copy). If the jail
 * exists already the head joins those in it; workspace and limits are then the jail's own. A
 * workspace that exists is used as it is; if the jail does not come about it is still there. The
 * caller chooses the numbers, each once for ever. */
int warden_enter(struct warden *w, uint64_t jail, uint64_t head, uint32_t zygote,
                 const char *workspace, const struct jail_limits *limits, int session_sock,
                 struct err *e);
/* The same for a jail that has to be there: else WARDEN_REFUSED follows. */
int warden_join(struct warden *w, uint64_t jail, uint64_t head, uint32_t zygote, int session_sock,
                struct err *e);
/* To the head's process group, and to the head if it left that group. SIGKILL only to the head if
 * the jail has a checkpoint. */
int warden_signal(struct warden *w, uint64_t head, int sig, struct err *e);

/* Copies that a head, or a sleeping copy, made of itself with CLONE_PARENT: children of the warden,
 * which does not know them yet. */
enum warden_kind {
    WARDEN_HEAD,       /* woken from a checkpoint */
    WARDEN_CHECKPOINT, /* asleep */
    WARDEN_SAVER       /* writes a state down and ends */
};

/* Gives such a copy a number, as if it had been entered: WARDEN_ENTERED or WARDEN_REFUSED follows,
 * later WARDEN_EXITED. `channel` is our end of a socket that the copy has the other end of, with
 * SO_PASSCRED set before its first byte was written, which is read here: it tells who wrote it.
 * With a checkpoint the warden notes who lives in the jail at this moment. ERR_FORBIDDEN: the copy
 * sent a descriptor along, so the session is hostile. */
int warden_adopt(struct warden *w, uint64_t jail, uint64_t head, enum warden_kind kind, int channel,
                 struct err *e);
/* Ends the head, which may be dead already, and every process of the jail that is neither ours
 * (init; other heads, checkpoints and savers with what they started in their own session) nor was
 * there when the checkpoint `since` was adopted (0: none is spared). WARDEN_CLEARED follows when
 * none of them runs code any more; their memory may take longer. */
int warden_clear(struct warden *w, uint64_t head, uint64_t jail, uint64_t since, struct err *e);
/* Likewise, but the head, if it has one thread, is only stopped: its end takes as long as a fork,
 * and the processor and locks from one that is woken meanwhile. End it by SIGKILL afterwards. */
int warden_clear_holding(struct warden *w, uint64_t head, uint64_t jail, uint64_t since,
                         struct err *e);
/* Which processes are in the jail besides heads and their copies, and whether any works:
 * WARDEN_LOOKED follows, with no process if there is no such jail. */
int warden_look(struct warden *w, uint64_t jail, uint64_t ticket, struct err *e);
/* How much memory all in the jail have of their own, with what lies in its tmpfs, and the processor
 * time that they have used: WARDEN_WEIGHED follows, with nothing if there is no such jail. */
int warden_weigh(struct warden *w, uint64_t jail, uint64_t ticket, struct err *e);
/* SIGTERM to everybody in the jail who is awake. */
int warden_terminate(struct warden *w, uint64_t jail, struct err *e);
int warden_measure(struct warden *w, uint64_t head, struct err *e); /* WARDEN_MEASURED follows */
/* A TCP socket of the jail's own network, AF_INET or AF_INET6, not connected: WARDEN_SOCKET
 * follows. Whatever it is connected to is in that network, which has a loopback and nothing else.
 */
int warden_make_socket(struct warden *w, uint64_t jail, uint64_t ticket, int family, struct err *e);

/* Makes a jail for a branch of a session that lives in the jail `source`: a room, which a sleeping
 * copy of that session enters by itself (jail/inside/room.h). WARDEN_ROOM brings its key, which
 * goes with the order to wake; what comes out of it is adopted with the room's number. Or
 * WARDEN_REFUSED with head 0: there is no room. It is destroyed like any other jail, also if nobody
 * came. It has its own workspace, as with warden_enter, and its own limits as far as cgroups set
 * them; rlimits came with the copy. The source may be destroyed before it. */
int warden_make_room(struct warden *w, uint64_t source, uint64_t jail, const char *workspace,
                     const struct jail_limits *limits, struct err *e);

/* When names of its topmost directory last came or went. No process can set that time, other than
 * by setting the clock. -errno if it cannot be told. */
int warden_changed_at(const struct warden *w, const char *workspace, struct timespec *ret);

/* A cell runs (true) or has ended (false): /workspace is measured often while one runs, and once
 * about a second after it, and on as long as anything of the jail does. Enough to call with false
 * once a second for sessions whose cells are short. */
int warden_watch(struct warden *w, uint64_t jail, bool is_busy, struct err *e);
/* Ends every head in it. A workspace that is kept is there for a later jail of that name, or until
 * warden_remove_workspace, which says nothing when it is done. */
int warden_destroy(struct warden *w, uint64_t jail, bool keep_workspace, struct err *e);
int warden_remove_workspace(struct warden *w, const char *name, struct err *e);

/* ---- files go with the state: orders to the archivist, by way of the warden ------------------ */

/* What a record may cost. Beyond it there is none, and the answer says why. */
struct archive_budget {
    uint32_t files; /* names of any kind in the workspace */
    uint64_t bytes; /* of all its files together; holes count */
    uint64_t
        new_bytes; /* that the store has not seen; what was kept counts as seen the next time */
};

/* Orders about one workspace are carried out one after the other, in the order given; those about
 * different ones side by side. Each is answered exactly once with its ticket, with an error in
 * plain words if the archivist ended meanwhile; it may then simply be given again. Only the end of
 * the warden itself leaves them unanswered.
 *
 * Records the workspace data_dir/workspaces/NAME in the store of blobs. `base`: the manifest (hex)
 * of the last record or "": a hint that saves a look at the store for each unchanged file. The
 * answer:
 *   {"manifest":hex|null,"files":n,"bytes":n,"new_bytes":n,"skipped":n,"torn":bool,
 *    "over_budget":bool,"reason":null|".."}
 * files: names recorded; skipped: those of them (sockets, pipes) that have no content; torn: the
 * workspace changed meanwhile; manifest null: nothing was recorded, and reason says why; it can be
 * tried again unless it is over_budget, which includes paths too long and directories too deep. */
int warden_record(struct warden *w, uint64_t ticket, const char *workspace, const char *base,
                  const struct archive_budget *budget, struct err *e);
/* Makes the workspace, which has to exist, equal to a manifest, or empty for "". The answer:
 *   {"changed":n,"removed":n,"created":n,"errors":["..."...],"lost":["path"...]}
 * errors: at most 20, each names the file or says why nothing could be done; what is not named is
 * restored. lost: at most 20 of what was removed or got other bytes. */
int warden_restore(struct warden *w, uint64_t ticket, const char *workspace, const char *manifest,
                   struct err *e);

enum warden_file_action {
    WARDEN_FILE_PUT,
    WARDEN_FILE_GET, /* its bytes go to the descriptor */
    WARDEN_FILE_DELETE,
    WARDEN_FILE_STAT,
    WARDEN_FILE_LIST,
    WARDEN_FILE_MKDIR, /* with all directories on the way */
    WARDEN_FILE_MOVE,
    WARDEN_FILE_COPY,
    WARDEN_FILE_PACK,   /* a directory as a tar archive goes to the descriptor */
    WARDEN_FILE_UNPACK, /* likewise into one, which is made if need be */
    WARDEN_FILE_WATCH, /* what changes in a directory goes to the descriptor, a line of JSON each */
    WARDEN_FILE_SPACE, /* details: {"free":n}, bytes that may still be put */
};
enum {
    WARDEN_PATH_SIZE = 1025,   /* of a file's path in its workspace, with the NUL */
    WARDEN_PATTERN_SIZE = 256, /* of LIST, with the NUL */
    WARDEN_TAG_SIZE = 40,      /* what tells two states of a file apart, with the NUL */
    WARDEN_PAGE_MAX = 1000,    /* entries of one LIST */
};

/* Which bytes of a file: from `first` on, `last` included; or, if `first` is -1, the last `last`. A
 * `last` of -1 is the end. */
struct warden_range {
    bool is_given;
    int64_t first, last;
    char tag[WARDEN_TAG_SIZE]; /* all of it, if it is another file by now; "": whatever it is */
};

struct warden_file_order {
    enum warden_file_action action;
    char path[WARDEN_PATH_SIZE];  /* "": the workspace, for what takes a directory */
    char other[WARDEN_PATH_SIZE]; /* MOVE, COPY: the new path; LIST: only what comes after it */
    char pattern[WARDEN_PATTERN_SIZE]; /* LIST: names, or paths if it has a slash; "": all */
    char blob[2 * 32 + 1]; /* PUT, UNPACK: the bytes, which are in the store, by their hash */
    bool amends;           /* `base`, a manifest or "" for no files, is to be amended */
    char base[2 * 32 + 1];
    uint64_t max_bytes;        /* that all files may take */
    bool is_recursive;         /* DELETE, LIST: with all that is in the directory */
    bool replaces;             /* MOVE, COPY: a file that has the new path */
    uint32_t limit;            /* LIST */
    struct warden_range range; /* GET */
};

/* Files of a workspace, which has to exist, among the orders above. A put file is there as a whole
 * or not at all, and belongs to the jail's user. `out`: where bytes go to (a pipe), of which the
 * caller keeps its copy; -1: this action has none. The end of the pipe ends the sending. An archive
 * is followed by one byte more, without which it is not whole. The answer:
 *   {"code":n,"message":"..","advice":"..","hash":hex|null,"bytes":n,"created":bool,
 *    "manifest":hex|null,"details":null|{..}}
 * code: an enum err_code; hash and bytes: of the file; manifest: the base with this change.
 * details: STAT {"entry":E}; LIST {"entry":E,"entries":[E..],"next":path|null}; GET
 * {"entry":E,"tag":"..","first":n,"length":n,"is_partial":bool}, length -1 if there are no such
 * bytes; UNPACK {"files":n,"folders":n}; MOVE and COPY {"entry":E}.
 * E: {"path","type":"file|folder|link|other","bytes","mode":"0644","modified_at","target"}. */
int warden_file(struct warden *w, uint64_t ticket, const char *workspace,
                const struct warden_file_order *order, int out, struct err *e);
