/* What documents share, in the daemon: their object is made, given another configuration, freed. */
#include "notebook/documents.h"

#include "session/notebooks.h"

struct documents *documents_new(struct engine *engine, const struct documents_config *config)
{
    struct documents *documents = mem_alloc(sizeof(*documents));
    documents->engine = engine;
    documents->config = *config;
    tasks_init(&documents->tasks, engine);
    list_init(&documents->asked_for);
    list_init(&documents->mirrors.due);
    notebooks_on_changed(engine, mirrors_changed, documents);
    mirrors_compare(documents);
    return documents;
}

void documents_reconfigure(struct documents *documents, bool has_cells_json)
{
    bool had_cells_json = documents->config.has_cells_json;
    documents->config.has_cells_json = has_cells_json;
    if (!had_cells_json)
        mirrors_compare(documents);
}

void documents_free(struct documents *documents)
{
    if (documents == NULL)
        return;
    notebooks_on_changed(documents->engine, NULL, NULL);
    tasks_close(&documents->tasks);
    map_free(&documents->mirrors.by_id);
    free(documents);
}
