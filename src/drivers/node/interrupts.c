/* SIGINT for the cell that it was meant for. In the interpreter's process: a signal handler, a
 * thread that watches, the event loop; owns the thread. */
#include "drivers/node/interrupts.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

enum {
    /* For a loop that turns. Long enough for a child to end by the same signal: what Node.js does
     * with its end is no good place to be terminated in. */
    PATIENCE_MS = 30,
    REPEAT_ROUNDS = 4, /* of patience */
    STACK_BYTES = 64 * 1024,
};

/* Methods of v8::Isolate, which take it as their first argument. */
static void *(*isolate_current)(void);
static void (*isolate_terminate)(void *isolate);
static void (*isolate_cancel)(void *isolate);
static void (*isolate_after_calls)(void *isolate, void (*callback)(void *isolate));
static void (*isolate_after_microtasks)(void *isolate, void (*callback)(void *isolate, void *data),
                                        void *data);
static void *isolate;

static uv_async_t *knock;
static int cell_socket;
static void (*on_interrupted)(void);

/* Cells are numbered as they are taken. */
static _Atomic uint64_t n_taken;
static _Atomic uint64_t target;  /* the cell that a signal would be for now; 0: none */
static _Atomic uint64_t asked;   /* the cell that a signal was for */
static _Atomic uint64_t n_asked; /* how often: a second signal for a cell counts as the first did */
static sem_t signaled;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that follows */
static pthread_cond_t turned;
static uint64_t noticed; /* by the loop: of the values of `n_asked` */
static bool is_running;
static bool has_shield = true;
static _Atomic bool is_terminating;
static struct interrupts_async async;
static uint32_t kept_checks;

/* ---- in the signal handler ------------------------------------------------------------------- */

static bool has_unread(void)
{
    struct pollfd poller = {.fd = cell_socket, .events = POLLIN};
    return poll(&poller, 1, 0) > 0;
}

static void on_sigint(int sig)
{
    (void)sig;
    int error = errno;
    uint64_t next = atomic_load(&n_taken) + 1; /* first: it may be taken while we look */
    uint64_t cell = atomic_load(&target);
    if (cell == 0 && has_unread())
        cell = next;
    if (cell != 0) {
        atomic_store(&asked, cell);
        atomic_fetch_add(&n_asked, 1);
        sem_post(&signaled);
    }
    errno = error;
}

/* Again for each cell: vm's breakOnSigint leaves a handler behind that ends the process. */
static void install_handler(void)
{
    struct sigaction action = {.sa_handler = on_sigint};
    sigaction(SIGINT, &action, NULL);
}

/* ---- in the watcher -------------------------------------------------------------------------- */

static void terminate(void)
{
    if (!is_terminating && async.checks != NULL) {
        kept_checks = *async.checks;
        *async.checks = 0;
    }
    is_terminating = true;
    isolate_terminate(isolate);
}

static void wait_for_turn(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PATIENCE_MS * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&turned, &lock, &until);
}

/* The main thread waits in C, for a child perhaps that was not there yet when the signal came. */
static void repeat_signal(void)
{
    if (getpgrp() == getpid())
        kill(0, SIGINT);
}

/* Does the cell run, or wait unread while something that an earlier one left keeps the loop? */
static bool is_due(uint64_t cell)
{
    return atomic_load(&target) == cell || (cell > atomic_load(&n_taken) && has_unread());
}

static void interrupt(uint64_t cell, uint64_t number)
{
    uv_async_send(knock);
    pthread_mutex_lock(&lock);
    for (unsigned round = 1;; round++) {
        if (noticed < number)
            wait_for_turn();
        if (noticed >= number || !is_due(cell))
            break;
        if (!has_shield)
            terminate();
        if (round % REPEAT_ROUNDS == 0)
            repeat_signal();
    }
    pthread_mutex_unlock(&lock);
}

static void *watch(void *unused)
{
    (void)unused;
    for (;;) {
        if (sem_wait(&signaled) < 0)
            continue;
        uint64_t number = atomic_load(&n_asked); /* first: the cell may be a later one's */
        interrupt(atomic_load(&asked), number);
    }
    return NULL;
}

static bool start_watcher(void)
{
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&turned, &clock);
    sem_init(&signaled, 0, 0);

    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    int rc = pthread_create(&thread, &small, watch, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc == 0;
}

/* ---- in the event loop ----------------------------------------------------------------------- */

static void end_termination(void)
{
    if (!is_terminating)
        return;
    is_terminating = false;
    isolate_cancel(isolate);
    if (async.checks == NULL)
        return;
    *async.checks = kept_checks;
    *async.depth = 0;
    *async.execution_id = *async.trigger_id = 0;
}

/* V8 has left the outermost function, or has run or dropped what promises had to do. */
static void after_call(void *ignored)
{
    (void)ignored;
    if (!is_terminating)
        return;
    pthread_mutex_lock(&lock);
    end_termination();
    pthread_mutex_unlock(&lock);
}

static void after_microtasks(void *ignored, void *data)
{
    (void)data;
    after_call(ignored);
}

/* The stack is empty: what was to be terminated is. */
static void on_knock(uv_async_t *handle)
{
    (void)handle;
    uint64_t number = atomic_load(&n_asked);
    uint64_t cell = atomic_load(&asked);
    pthread_mutex_lock(&lock);
    end_termination();
    noticed = number;
    bool is_meant = is_running && atomic_load(&target) == cell;
    if (is_meant)
        has_shield = true;
    pthread_cond_signal(&turned);
    pthread_mutex_unlock(&lock);
    if (is_meant)
        on_interrupted();
    interrupts_shield(false);
}

static bool find_isolate(void)
{
    *(void **)&isolate_current = dlsym(RTLD_DEFAULT, "_ZN2v87Isolate10GetCurrentEv");
    *(void **)&isolate_terminate = dlsym(RTLD_DEFAULT, "_ZN2v87Isolate18TerminateExecutionEv");
    *(void **)&isolate_cancel = dlsym(RTLD_DEFAULT, "_ZN2v87Isolate24CancelTerminateExecutionEv");
    *(void **)&isolate_after_calls =
        dlsym(RTLD_DEFAULT, "_ZN2v87Isolate24AddCallCompletedCallbackEPFvPS0_E");
    *(void **)&isolate_after_microtasks =
        dlsym(RTLD_DEFAULT, "_ZN2v87Isolate30AddMicrotasksCompletedCallbackEPFvPS0_PvES2_");
    if (isolate_current == NULL || isolate_terminate == NULL || isolate_cancel == NULL ||
        isolate_after_calls == NULL || isolate_after_microtasks == NULL)
        return false;
    isolate = isolate_current();
    isolate_after_calls(isolate, after_call);
    isolate_after_microtasks(isolate, after_microtasks, NULL);
    return true;
}

bool interrupts_start(uv_loop_t *loop, int socket, void (*interrupted)(void))
{
    cell_socket = socket;
    on_interrupted = interrupted;
    /* As large as the libuv of this Node.js says, which is not the one we were compiled with. */
    knock = malloc(uv_handle_size(UV_ASYNC));
    if (knock == NULL || !find_isolate() || uv_async_init(loop, knock, on_knock) != 0)
        return false;
    uv_unref((uv_handle_t *)knock);
    if (!start_watcher())
        return false;
    install_handler();
    return true;
}

void interrupts_tidy(const struct interrupts_async *fields)
{
    async = *fields;
}

void interrupts_take(void)
{
    if (atomic_load(&target) != 0)
        return;
    /* What was to be terminated is not what takes the frame. */
    pthread_mutex_lock(&lock);
    has_shield = true;
    end_termination();
    pthread_mutex_unlock(&lock);
    atomic_store(&target, atomic_load(&n_taken) + 1);
    atomic_fetch_add(&n_taken, 1);
}

void interrupts_take_nothing(void)
{
    if (!is_running) {
        atomic_store(&target, 0);
        interrupts_shield(false);
    }
}

bool interrupts_begin_cell(void)
{
    install_handler();
    pthread_mutex_lock(&lock);
    is_running = true;
    pthread_mutex_unlock(&lock);
    return !interrupts_is_asked();
}

bool interrupts_is_running(void)
{
    return is_running; /* asked by the thread that sets it */
}

bool interrupts_is_asked(void)
{
    uint64_t cell = atomic_load(&target);
    return cell != 0 && cell == atomic_load(&asked);
}

void interrupts_ask(void)
{
    atomic_store(&asked, atomic_load(&target));
    atomic_fetch_add(&n_asked, 1);
    pthread_mutex_lock(&lock);
    terminate();
    pthread_mutex_unlock(&lock);
    sem_post(&signaled); /* the watcher knocks, and repeats it if need be */
}

void interrupts_end_cell(void)
{
    pthread_mutex_lock(&lock);
    atomic_store(&target, 0);
    is_running = false;
    pthread_mutex_unlock(&lock);
    install_handler();
}

void interrupts_shield(bool is_shielded)
{
    pthread_mutex_lock(&lock);
    has_shield = is_shielded;
    pthread_mutex_unlock(&lock);
}
