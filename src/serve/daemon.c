/* The daemon's start and stop, in order: directory, lock, key, sockets, warden, engine, server.
 * Daemon; owns all of them. */
#include "base/channel.h"
#include "base/ids.h"
#include "base/log.h"
#include "blob/blob.h"
#include "image/image.h"
#include "jail/warden.h"
#include "loop/loop.h"
#include "mcp/mcp.h"
#include "notebook/documents.h"
#include "ops/chain.h"
#include "ops/code_call.h"
#include "policy/config.h"
#include "policy/keys.h"
#include "policy/policy.h"
#include "runtime/interpreter.h"
#include "search/corpora.h"
#include "search/encoder.h"
#include "search/library.h"
#include "serve/attach.h"
#include "serve/data.h"
#include "serve/listen.h"
#include "serve/mcp_http.h"
#include "serve/reload.h"
#include "serve/serve.h"
#include "serve/server.h"
#include "serve/tunnel.h"
#include "session/engine.h"
#include "session/session.h"
#include "store/store.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>

enum { STOP_GRACE_MS = 3000, SHOWN_DIRS_MAX = 64, OTHER_RUNTIMES = 2 };

struct daemon {
    const struct serve_options *options;
    struct data_dir data;
    char key[KEYS_SIZE];
    uid_t owner;          /* who started us, before privileges were dropped */
    struct config config; /* it started with */
    struct policy policy;
    struct runtime_profile *profiles; /* Python's, and one for each of the other runtimes */
    size_t n_profiles;
    struct interpreter_dirs *interpreters; /* one for each profile */
    const char *shown_dirs[SHOWN_DIRS_MAX + 1];
    size_t n_shown_dirs;
    int tcp_fd;
    int unix_fd;
    bool has_socket_file;
    char url[LISTEN_URL_SIZE];
    bool is_everywhere; /* it listens on all addresses; `url` is one of them */

    struct warden *warden;
    struct store *store;
    int blobs;
    int searches, session_searches,
        corpora; /* descriptors of the folders of indexes; -1: there are none */
    uv_loop_t loop;
    struct engine *engine;
    struct documents *documents;
    struct server *server;
    struct image_boxes *boxes;
    struct code_surface code; /* for what cells call */
    struct mcp *mcp;
    uv_signal_t signals[3];
    struct loop_timer *giving_up; /* NULL unless the default profile cannot be loaded */
    int parts_running;            /* of engine and server */
    bool is_stopping;
    bool is_over;    /* both have stopped */
    bool has_failed; /* `failure` is why */
    struct err failure;
};

/* ---- stopping -------------------------------------------------------------------------------- */

static void part_stopped(void *context)
{
    struct daemon *d = context;
    if (--d->parts_running > 0)
        return;
    for (size_t i = 0; i < ARRAY_LEN(d->signals); i++)
        uv_close((uv_handle_t *)&d->signals[i], NULL);
    if (d->giving_up != NULL)
        loop_timer_close(take_ptr(d->giving_up), NULL);
    d->is_over = true;
}

static void stop(struct daemon *d)
{
    if (d->is_stopping)
        return;
    d->is_stopping = true;
    /* The server first, so that what the engine ends is answered with "Connection: close". */
    mcp_stop(d->mcp);
    toolbox_stop();
    corpora_stop();
    search_encoder_stop();
    server_stop(d->server, STOP_GRACE_MS, part_stopped, d);
    engine_stop(d->engine, part_stopped, d);
}

static void remove_socket(const struct daemon *d)
{
    if (d->has_socket_file)
        unlinkat(d->data.fd, SERVE_SOCKET, 0);
}

static void daemon_on_signal(uv_signal_t *handle, int number)
{
    struct daemon *d = handle->data;
    if (d->is_stopping) {
        /* The second one: at once. Our end is the end of the warden and of all jails. */
        remove_socket(d);
        _exit(128 + number);
    }
    log_info("stopping", LOG_NUM("signal", number));
    stop(d);
}

static void on_hangup(uv_signal_t *handle, int number)
{
    struct daemon *d = handle->data;
    (void)number;
    if (!d->is_stopping)
        reload(d->options->config_file, &d->config, &d->policy, d->engine, d->documents);
}

/* ---- what the engine tells ------------------------------------------------------------------- */

static void daemon_on_ready(void *context)
{
    struct daemon *d = context;
    log_info("ready", LOG_TEXT("url", d->url), LOG_TEXT("data", d->data.path));
    printf("cella ready %s%s\n", d->url,
           d->is_everywhere ? " (and on every address of this machine)" : "");
    fflush(stdout);
}

static void daemon_on_notice(void *context, const char *event, const char *text)
{
    (void)context;
    log_info(event, LOG_TEXT("text", text));
}

/* Hostile sessions sent more descriptors than can be closed now; see base/channel.h. */
static void on_congestion(size_t n_kept)
{
    log_warn("descriptors_kept_open", LOG_NUM("n", n_kept));
}

/* Of the store: said once when it begins and once when it is over. */
static void on_trouble(void *context, const struct err *e)
{
    (void)context;
    if (e == NULL)
        log_info("store_works_again");
    else
        log_error("store_fails", LOG_TEXT("text", e->message), LOG_TEXT("advice", e->advice));
}

static void on_lost(void *context, const char *text)
{
    struct daemon *d = context;
    log_error("warden_lost", LOG_TEXT("text", text));
    if (!d->is_stopping) {
        d->has_failed = true;
        err_set(&d->failure, ERR_UNAVAILABLE, "the warden is lost, no code can run: %s", text);
        err_advise(&d->failure, "Start the daemon again; `cella doctor` checks the machine.");
    }
    stop(d);
}

/* What sessions of an earlier daemon, or of an earlier warden, left, unless they can be brought
 * back. Workspaces are named by ids; others are the folders of users (notebook/mirror_files.h). */
static void remove_leftovers(const struct daemon *d)
{
    struct err e;
    int fd = openat(d->data.fd, "workspaces", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const struct session *session = session_find(d->engine, entry->d_name, &e);
        bool is_wanted = session != NULL && session->state != SESSION_DEAD;
        if (ids_is_uuid(entry->d_name, strlen(entry->d_name)) && !is_wanted &&
            warden_remove_workspace(d->warden, entry->d_name, &e) < 0)
            log_error("leftover", LOG_TEXT("text", e.message));
    }
    if (dir != NULL)
        closedir(dir);
    else
        cleanup_fd(&fd);
}

static void on_back(void *context, const char *text)
{
    log_info("warden_back", LOG_TEXT("text", text));
    remove_leftovers(context);
}

static void daemon_give_up(void *context)
{
    stop(context);
}

static void on_unstartable(void *context, const char *text)
{
    struct daemon *d = context;
    if (d->is_stopping)
        return;
    d->has_failed = true;
    err_set(&d->failure, ERR_UNAVAILABLE, "the default profile %s cannot be loaded by %s: %s",
            d->config.default_profile,
            config_find_profile(&d->config, d->config.default_profile)->python, text);
    err_advise(&d->failure, "Check `python` and the profile in the configuration; it needs Python "
                            "3.9 or newer. If its imports take long, raise "
                            "repl_warmup_timeout_secs.");
    d->giving_up = loop_timer_new(&d->loop, daemon_give_up, d);
    loop_timer_set(d->giving_up, 0);
}

/* ---- starting -------------------------------------------------------------------------------- */

static int add_profile(struct daemon *d, const struct runtime_profile *profile, struct err *e)
{
    struct interpreter_dirs *dirs = &d->interpreters[d->n_profiles];
    d->profiles[d->n_profiles++] = *profile;
    if (interpreter_find_dirs(profile->program, dirs, e) < 0)
        return -1;
    for (size_t i = 0; i < dirs->count; i++) {
        bool is_known = false;
        for (size_t j = 0; j < d->n_shown_dirs; j++)
            is_known |= strcmp(d->shown_dirs[j], dirs->paths[i]) == 0;
        if (!is_known && d->n_shown_dirs < SHOWN_DIRS_MAX)
            d->shown_dirs[d->n_shown_dirs++] = dirs->paths[i];
    }
    return 0;
}

/* Who has no Node.js can still use Python: the runtime says why it is not there when it is asked
 * for. */
static void add_other_runtime(struct daemon *d, const struct runtime *runtime, const char *program)
{
    struct err e;
    struct runtime_profile profile = {
        .runtime = runtime, .name = runtime->name, .program = program};
    if (add_profile(d, &profile, &e) < 0)
        d->profiles[d->n_profiles - 1].missing = arena_strdup(&d->config.arena, e.message);
}

static int load_config(struct daemon *d, struct err *e)
{
    if (config_load(d->options->config_file, &d->config, e) < 0)
        return -1;
    policy_init(&d->policy, &d->config);
    struct oauth *oauth;
    if (oauth_load(&d->config, &oauth, e) < 0)
        return -1;
    policy_take_tokens(&d->policy, oauth);
    size_t n = d->config.n_profiles + OTHER_RUNTIMES;
    d->profiles = mem_alloc(n * sizeof(*d->profiles));
    d->interpreters = mem_alloc(n * sizeof(*d->interpreters));
    for (size_t i = 0; i < d->config.n_profiles; i++) {
        const struct config_profile *p = &d->config.profiles[i];
        struct runtime_profile profile = {.runtime = &runtime_python,
                                          .name = p->name,
                                          .program = p->python,
                                          .preload = p->preload,
                                          .is_cold = !d->config.is_warm,
                                          .warmup_secs = d->config.warmup_timeout_secs};
        if (add_profile(d, &profile, e) < 0)
            return err_context(e, "the profile \"%.64s\"", p->name);
    }
    add_other_runtime(d, &runtime_node, d->config.node);
    add_other_runtime(d, &runtime_bash, d->config.bash);
    return 0;
}

/* Everything that may need root, and everything that must come before the loop exists. */
static int prepare(struct daemon *d, struct err *e)
{
    d->owner = getuid();
    if (data_open(d->options->data_dir, &d->data, e) < 0 || load_config(d, e) < 0 ||
        keys_ensure(d->data.fd, d->key, e) < 0)
        return -1;
    const char *address = d->options->listen != NULL ? d->options->listen : SERVE_LISTEN;
    if (listen_tcp(address, d->options->no_auth, &d->tcp_fd, d->url, e) < 0)
        return -1;
    d->is_everywhere = listen_is_everywhere(d->tcp_fd);
    d->has_socket_file = listen_unix(d->data.fd, &d->unix_fd, e) == 0;
    if (!d->has_socket_file)
        return -1;
    struct warden_config config = {.data_dir = d->data.path, .read_only_dirs = d->shown_dirs};
    if (warden_start(&config, &d->warden, e) < 0)
        return -1;
    if (warden_id_note(d->warden)[0] != '\0')
        log_info("session_ids", LOG_TEXT("text", warden_id_note(d->warden)));
    /* Without this the library raises it with every large frame or answer, and keeps their memory
     * for ever. */
    mallopt(M_MMAP_THRESHOLD, 256 * KIB);
    /* After the warden: what it starts must not inherit these. Each session and each client takes
     * descriptors. */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of its writing, not our end */
    signal(SIGHUP, SIG_IGN);  /* until the loop takes it */
    return warden_drop_privilege(d->warden, e);
}

static int start_engine(struct daemon *d, struct err *e)
{
    struct engine_config config = reload_engine_config(&d->config);
    config.profiles = d->profiles;
    config.n_profiles = d->n_profiles;
    config.default_profile = d->config.default_profile;
    channel_on_congestion(on_congestion);
    struct engine_events events = {
        .on_ready = daemon_on_ready,
        .on_notice = daemon_on_notice,
        .on_lost = on_lost,
        .on_back = on_back,
        .on_unstartable = on_unstartable,
        .context = d,
    };
    if (engine_new(&config, &events, d->warden, &d->loop, &d->engine, e) < 0)
        return -1;
    engine_set_admission(d->engine, policy_admit, &d->policy);
    return 0;
}

static int start_server(struct daemon *d, struct err *e)
{
    struct server_config config = SERVER_CONFIG_DEFAULT;
    config.loop = &d->loop;
    config.ops = op_table;
    config.engine = d->engine;
    config.documents = d->documents;
    config.policy = &d->policy;
    d->boxes = image_boxes_new(&d->loop);
    config.boxes = d->boxes;
    d->code = (struct code_surface){
        .engine = d->engine, .policy = &d->policy, .documents = d->documents, .boxes = d->boxes};
    engine_set_caller(d->engine, code_call_run, &d->code);
    engine_set_chainer(d->engine, chain_run, &d->code);
    toolbox_configure(&d->loop, &d->config.toolbox);
    search_configure(&d->config.search);
    config.tunnel = tunnel_start;
    config.terminal = attach_start;
    config.key = d->options->no_auth ? NULL : d->key;
    config.owner = d->owner;
    struct mcp_config mcp = {.loop = &d->loop,
                             .engine = d->engine,
                             .policy = &d->policy,
                             .documents = d->documents,
                             .boxes = d->boxes,
                             .has_fixtures = d->options->mcp_fixtures};
    config.mcp = d->mcp = mcp_new(&mcp);
    config.endpoints = mcp_endpoints;
    d->server = server_new(&config);
    if (server_listen(d->server, take_fd(&d->tcp_fd), e) < 0)
        return -1;
    return server_listen(d->server, take_fd(&d->unix_fd), e);
}

static void start_signals(struct daemon *d)
{
    static const struct {
        int number;
        uv_signal_cb callback;
    } wanted[] = {{SIGTERM, daemon_on_signal}, {SIGINT, daemon_on_signal}, {SIGHUP, on_hangup}};
    static_assert(ARRAY_LEN(wanted) == ARRAY_LEN(((struct daemon *)0)->signals), "one for each");
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        uv_signal_init(&d->loop, &d->signals[i]);
        d->signals[i].data = d;
        uv_signal_start(&d->signals[i], wanted[i].callback, wanted[i].number);
    }
}

/* The loop exists; from here on everything ends through stop(). */
static int daemon_run(struct daemon *d, struct err *e)
{
    /* By descriptor: the way there by name may be closed to us since we dropped our rights. */
    char dir[32];
    snprintf(dir, sizeof(dir), "/proc/self/fd/%d", d->data.fd);
    if (store_open(dir, &d->loop, &d->store, e) < 0)
        return err_context(e, "opening the store in %s", d->data.path);
    store_on_trouble(d->store, on_trouble, NULL);
    if (blob_open_store(dir, &d->blobs, e) < 0 || start_engine(d, e) < 0)
        return -1;
    d->searches = search_open_folder(d->data.fd, "search");
    d->session_searches = d->searches >= 0 ? search_open_folder(d->searches, "sessions") : -1;
    d->corpora = d->searches >= 0 ? search_open_folder(d->searches, "corpora") : -1;
    corpora_use(&d->loop, d->corpora);
    if (d->session_searches >= 0)
        engine_use_searches(d->engine, d->session_searches);
    if (engine_use_store(d->engine, d->store, d->blobs, &d->failure) < 0 ||
        store_each_plan(d->store, policy_resume_plan, &d->policy, &d->failure) < 0) {
        d->has_failed = true;
    } else {
        struct documents_config documents = {.has_cells_json = d->config.notebook.has_cells_json,
                                             .data_dir = d->data.fd};
        d->documents = documents_new(d->engine, &documents);
        remove_leftovers(d);
    }
    d->parts_running = 2;
    start_signals(d);
    if (start_server(d, d->has_failed ? e : &d->failure) < 0)
        d->has_failed = true;
    if (d->has_failed)
        stop(d);
    loop_run(&d->loop, &d->is_over, engine_awake_until_ns, d->engine);
    server_free(d->server);
    mcp_free(d->mcp);
    documents_free(d->documents);
    image_boxes_free(d->boxes);
    engine_free(d->engine);
    if (!d->has_failed)
        return 0;
    *e = d->failure;
    return -1;
}

static void daemon_release(struct daemon *d)
{
    remove_socket(d);
    for (size_t i = 0; i < d->n_profiles; i++)
        interpreter_free_dirs(&d->interpreters[i]);
    free(d->interpreters);
    free(d->profiles);
    policy_free(&d->policy);
    config_free(&d->config);
    cleanup_fd(&d->tcp_fd);
    cleanup_fd(&d->unix_fd);
    cleanup_fd(&d->blobs);
    cleanup_fd(&d->session_searches);
    cleanup_fd(&d->corpora);
    cleanup_fd(&d->searches);
    data_close(&d->data);
}

int serve_run(const struct serve_options *options, struct err *e)
{
    struct daemon d = {
        .options = options, .data = DATA_DIR_INIT, .tcp_fd = -1, .unix_fd = -1, .blobs = -1};
    int status = prepare(&d, e);
    if (status == 0) {
        uv_loop_init(&d.loop);
        status = daemon_run(&d, e);
        store_close(take_ptr(d.store));
        warden_free(take_ptr(d.warden));
        uv_run(&d.loop, UV_RUN_DEFAULT); /* the handles that were closed last */
        uv_loop_close(&d.loop);
        log_info("stopped");
    }
    warden_free(d.warden);
    daemon_release(&d);
    return status;
}
