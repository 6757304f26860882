/* Threads of a box. One piece of work at a time: jobs are numbers that threads take in turn. */
#include "explore/crew.h"

#include "explore/explore.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

struct crew {
    pthread_mutex_t lock;
    pthread_cond_t has_work, is_done;
    pthread_t threads[EXPLORE_THREADS_MAX];
    unsigned n_threads; /* that were started: without the caller's */
    unsigned n_wanted;  /* of this work: those that have not joined it */
    unsigned n_busy;
    unsigned n_ready;
    uint64_t work; /* how many pieces there were */
    bool is_over;
    /* the piece of work at hand */
    crew_fn fn;
    void *context;
    size_t n_jobs;
    atomic_size_t next;
};

static void crew_do_jobs(struct crew *crew)
{
    for (;;) {
        size_t job = atomic_fetch_add(&crew->next, 1);
        if (job >= crew->n_jobs)
            return;
        crew->fn(crew->context, job);
    }
}

static void *crew_thread(void *context)
{
    struct crew *crew = context;
    uint64_t seen = 0;
    pthread_mutex_lock(&crew->lock);
    crew->n_ready++;
    pthread_cond_signal(&crew->is_done);
    for (;;) {
        while (!crew->is_over && (crew->work == seen || crew->n_wanted == 0))
            pthread_cond_wait(&crew->has_work, &crew->lock);
        if (crew->is_over)
            break;
        seen = crew->work;
        crew->n_wanted--;
        crew->n_busy++;
        pthread_mutex_unlock(&crew->lock);
        crew_do_jobs(crew);
        pthread_mutex_lock(&crew->lock);
        if (--crew->n_busy == 0)
            pthread_cond_signal(&crew->is_done);
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

static unsigned crew_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        return 1;
    return (unsigned)CPU_COUNT(&set);
}

struct crew *crew_new(unsigned n_threads)
{
    enum { STACK = 512 * 1024 }; /* JIT of PCRE2 has a stack of its own */
    struct crew *crew = mem_alloc(sizeof(*crew));
    pthread_attr_t attributes;
    sigset_t all, before;
    unsigned n = MIN(n_threads > 0 ? n_threads : crew_cores(), (unsigned)EXPLORE_THREADS_MAX);
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->has_work, NULL);
    pthread_cond_init(&crew->is_done, NULL);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (crew->n_threads + 1 < n &&
           pthread_create(&crew->threads[crew->n_threads], &attributes, crew_thread, crew) == 0)
        crew->n_threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    /* What libc does at the start of a thread is not allowed once the walls are closed. */
    pthread_mutex_lock(&crew->lock);
    while (crew->n_ready < crew->n_threads)
        pthread_cond_wait(&crew->is_done, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
    return crew;
}

void crew_free(struct crew *crew)
{
    if (crew == NULL)
        return;
    pthread_mutex_lock(&crew->lock);
    crew->is_over = true;
    pthread_cond_broadcast(&crew->has_work);
    pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 0; i < crew->n_threads; i++)
        pthread_join(crew->threads[i], NULL);
    pthread_cond_destroy(&crew->is_done);
    pthread_cond_destroy(&crew->has_work);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}

void crew_run(struct crew *crew, unsigned n_threads, size_t n_jobs, crew_fn fn, void *context)
{
    if (crew == NULL || crew->n_threads == 0 || n_jobs < 2 || n_threads == 1) {
        for (size_t i = 0; i < n_jobs; i++)
            fn(context, i);
        return;
    }
    size_t others = MIN((size_t)(n_threads > 0 ? n_threads - 1 : crew->n_threads), n_jobs - 1);
    pthread_mutex_lock(&crew->lock);
    crew->fn = fn;
    crew->context = context;
    crew->n_jobs = n_jobs;
    atomic_store(&crew->next, 0);
    crew->n_wanted = (unsigned)MIN(others, (size_t)crew->n_threads);
    crew->work++;
    pthread_cond_broadcast(&crew->has_work);
    pthread_mutex_unlock(&crew->lock);
    crew_do_jobs(crew);
    /* A thread that has not woken by now finds nothing to do: it must not join the next work. */
    pthread_mutex_lock(&crew->lock);
    crew->n_wanted = 0;
    while (crew->n_busy > 0)
        pthread_cond_wait(&crew->is_done, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
}
