/* Tasks of the daemon's loop: begun, put off, forgotten, ended. */
#include "session/task.h"

#include "loop/loop.h"
#include "session/engine_state.h"

void tasks_init(struct tasks *tasks, struct engine *engine)
{
    tasks->engine = engine;
    list_init(&tasks->under_way);
}

void tasks_close(struct tasks *tasks)
{
    while (!list_is_empty(&tasks->under_way)) {
        struct task *task = CONTAINER_OF(list_first(&tasks->under_way), struct task, node);
        if (task->asked != NULL)
            store_forget(task->asked);
        if (!task->is_busy) {
            task_end(task);
            continue;
        }
        task->is_forgotten = true;
        task->tasks = NULL;
        task->engine = NULL;
        list_remove(&task->node);
    }
}

void *task_new(struct tasks *tasks, size_t size, void (*end)(struct task *task))
{
    struct task *task = mem_alloc(size);
    task->tasks = tasks;
    task->engine = tasks->engine;
    task->end = end;
    list_append(&tasks->under_way, &task->node);
    return task;
}

void task_end(struct task *task)
{
    list_remove(&task->node);
    loop_timer_close(take_ptr(task->later), NULL);
    if (task->end != NULL)
        task->end(task);
    free(task);
}

void task_forget(struct task *task)
{
    if (task == NULL || task->is_forgotten)
        return;
    task->is_forgotten = true;
    if (task->forget != NULL)
        task->forget(task);
}

static void task_on_later(void *context)
{
    struct task *task = context;
    task->fn(task);
}

void task_later(struct task *task, void (*fn)(struct task *task), uint64_t in_ms)
{
    task->fn = fn;
    if (task->later == NULL)
        task->later = loop_timer_new(task->engine->loop, task_on_later, task);
    loop_timer_set(task->later, in_ms);
}
