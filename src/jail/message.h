/* What daemon, warden, keeper, archivist and zygote say to each other: fixed structs over
 * SOCK_SEQPACKET, one message each. All ends are ours; nothing of a session ever reaches these
 * sockets. */
#pragma once

#include "blob/blob.h"
#include "jail/spec.h"
#include "jail/warden.h"

enum { MESSAGE_TEXT_MAX = 60 * 1024, WORKSPACE_NAME_MAX = 64, ZYGOTE_ARGS_MAX = 31 };

/* Daemon to warden. */
enum request_type {
    REQUEST_ZYGOTE_START, /* text: the arguments, a NUL after each */
    REQUEST_ZYGOTE_STOP,
    REQUEST_ENTER,   /* head, workspace, limits; one descriptor: the session's socket */
    REQUEST_SIGNAL,  /* head; number: the signal */
    REQUEST_WATCH,   /* number: a cell runs or not */
    REQUEST_DESTROY, /* number: the workspace is kept or not */
    REQUEST_RECORD,  /* head: the ticket; workspace, manifest: the base or "", budget */
    REQUEST_RESTORE, /* head: the ticket; workspace, manifest */
    REQUEST_FILE,    /* head: the ticket; workspace; a struct warden_file_order follows */
    REQUEST_ADOPT,   /* head; number: its kind; one descriptor: its channel */
    REQUEST_CLEAR,   /* head, since */
    REQUEST_MEASURE, /* head */
    REQUEST_LOOK,    /* jail; head: the ticket */
    REQUEST_WEIGH,   /* likewise */
    REQUEST_TERMINATE,
    REQUEST_REMOVE, /* workspace */
    REQUEST_ROOM,   /* since: the source's jail; workspace, limits */
    REQUEST_SOCKET, /* jail; head: the ticket; number: the family */
};

enum { CLEAR_HOLDING = 1 }; /* `number` of a REQUEST_CLEAR whose head is only to be stopped */

struct request {
    enum request_type type;
    uint32_t zygote;
    uint64_t jail;
    uint64_t head;
    uint64_t since;
    struct jail_limits limits;
    int32_t number;
    bool is_end; /* REQUEST_ADOPT, which has a pidfd of the copy: it had ended */
    char workspace[WORKSPACE_NAME_MAX];
    char manifest[BLOB_HEX_SIZE];
    struct archive_budget budget;
    uint32_t text_len; /* bytes that follow the struct in the same message */
};

/* Warden to daemon: a warden_event in one piece. The first report of a warden's life has the type
 * REPORT_STARTED (text: empty, or why sessions have no ids of their own) or REPORT_FAILED. */
enum { REPORT_STARTED = 100, REPORT_FAILED = 101 };

struct report {
    int32_t type;
    uint32_t zygote;
    uint64_t jail;
    uint64_t head;
    int32_t pid;
    int32_t status;
    uint32_t oom_kills;
    uint32_t pids_refused;
    uint64_t peak_bytes;
    uint64_t bytes;
    uint64_t ticks;
    uint64_t cpu_us;
    uint32_t others;
    uint32_t text_len; /* bytes that follow the struct in the same message */
};

/* Warden to zygote: fork into this jail. Descriptors: the jail's init (pidfd), the session's
 * socket, then the cgroup files to join. */
struct zygote_fork {
    uint64_t head;
    struct jail_limits limits;
    int32_t cgroup_version; /* 0: none; 1: write "0" to each file; 2: clone into the directory */
    bool has_memory_limit;  /* by cgroup; otherwise rlimits have to do */
    bool has_pids_limit;    /* the same */
};

struct zygote_forked {
    uint64_t head;
    int32_t pid;    /* in the warden's pid namespace */
    int32_t errnum; /* 0 or why there is no child */
};

/* Warden to keeper, with a descriptor of the workspace and one of the jail's /proc for WATCH. */
enum keeper_order_type {
    KEEPER_WATCH,
    KEEPER_BUSY,
    KEEPER_COUNT, /* n_inmates has changed */
    KEEPER_MEASURE,
    KEEPER_FORGET,
    KEEPER_REMOVE,
    KEEPER_SWEEP /* what was set aside */
};

struct keeper_order {
    enum keeper_order_type type;
    uint64_t jail;
    uint32_t disk_mb;
    uint32_t n_inmates; /* who rest when no cell runs */
    bool is_busy;
    uint64_t head;                      /* MEASURE; answered with the same */
    int32_t pid;                        /* MEASURE */
    char workspace[WORKSPACE_NAME_MAX]; /* REMOVE */
};

/* Keeper to warden. */
enum keeper_word_type {
    KEEPER_SAYS_OVER,
    KEEPER_SAYS_UNDER,
    KEEPER_SAYS_FAR_OVER,
    KEEPER_SAYS_REMOVED,
    KEEPER_SAYS_MEASURED
};

struct keeper_word {
    enum keeper_word_type type;
    uint64_t jail;
    uint64_t head;
    uint64_t bytes;
    bool is_uncountable; /* OVER, FAR_OVER: not for its bytes, but because they cannot be counted */
};

/* Warden to archivist. */
enum archivist_order_type { ARCHIVIST_RECORD, ARCHIVIST_RESTORE, ARCHIVIST_FILE, ARCHIVIST_FORGET };

struct archivist_order {
    enum archivist_order_type type;
    uint64_t ticket;
    char workspace[WORKSPACE_NAME_MAX];
    char manifest[BLOB_HEX_SIZE]; /* RECORD: the base or ""; RESTORE: "" for none */
    struct archive_budget budget;
    struct warden_file_order file;
};

/* Archivist to warden; the JSON follows in the same message. */
struct archivist_word {
    enum archivist_order_type type;
    uint64_t ticket;
};
