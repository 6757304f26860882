/* A few threads for work that a session can prolong. Keeper; a process has one crew. */
#include "jail/warden/crew.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    /* Each may hold a few hundred descriptors, of directories below each other. */
    CREW_WORKERS_MAX = 16,
    CREW_STACK_BYTES = 512 * 1024,
};

static struct {
    int bell;             /* rings when `done` is not empty */
    pthread_mutex_t lock; /* everything below */
    pthread_cond_t has_work;
    struct list waiting, done;
    size_t n_waiting, n_idle, n_workers;
} crew = {.bell = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .has_work = PTHREAD_COND_INITIALIZER};

int crew_start(void)
{
    list_init(&crew.waiting);
    list_init(&crew.done);
    crew.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return crew.bell < 0 ? -errno : crew.bell;
}

static void put_done(struct crew_job *job)
{
    uint64_t one = 1;
    list_append(&crew.done, &job->link);
    if (write(crew.bell, &one, sizeof(one)) < 0)
        abort(); /* it cannot be full */
}

static void *crew_work(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&crew.lock);
    for (;;) {
        while (list_is_empty(&crew.waiting)) {
            crew.n_idle++;
            pthread_cond_wait(&crew.has_work, &crew.lock);
            crew.n_idle--;
        }
        struct crew_job *job = CONTAINER_OF(list_first(&crew.waiting), struct crew_job, link);
        list_remove(&job->link);
        crew.n_waiting--;
        pthread_mutex_unlock(&crew.lock);
        job->run(job);
        pthread_mutex_lock(&crew.lock);
        put_done(job);
    }
    return NULL;
}

void crew_give(struct crew_job *job)
{
    pthread_mutex_lock(&crew.lock);
    if (crew.n_waiting >= crew.n_idle && crew.n_workers < CREW_WORKERS_MAX) {
        pthread_t thread;
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, CREW_STACK_BYTES);
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        if (pthread_create(&thread, &attr, crew_work, NULL) == 0)
            crew.n_workers++;
        pthread_attr_destroy(&attr);
    }
    bool has_worker = crew.n_workers > 0;
    if (has_worker) {
        list_append(&crew.waiting, &job->link);
        crew.n_waiting++;
        pthread_cond_signal(&crew.has_work);
    } else {
        job->run(job);
        put_done(job);
    }
    pthread_mutex_unlock(&crew.lock);
}

void crew_finish(void)
{
    uint64_t rings;
    struct list done = LIST_INIT(done);
    if (read(crew.bell, &rings, sizeof(rings)) < 0)
        return;
    pthread_mutex_lock(&crew.lock);
    list_move_all(&crew.done, &done);
    pthread_mutex_unlock(&crew.lock);
    LIST_EACH(&done, at) {
        list_remove(at);
        struct crew_job *job = CONTAINER_OF(at, struct crew_job, link);
        job->finish(job);
    }
}
