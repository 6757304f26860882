/* What the configuration says of searching, in the daemon: one copy, for all. */
#include "search/settings.h"

static json_t *settings_encoder, *settings_corpora;

static json_t *settings_list(const char *const *texts)
{
    json_t *list = json_array();
    for (; texts != NULL && *texts != NULL; texts++)
        json_array_append_new(list, json_string(*texts));
    return list;
}

void search_configure(const struct search_settings *settings)
{
    const struct search_encoder_settings *e = &settings->encoder;
    json_decref(settings_encoder);
    json_decref(settings_corpora);
    settings_encoder = NULL;
    if (e->command != NULL)
        settings_encoder = json_pack("{s:o}", "command", settings_list(e->command));
    else if (e->http != NULL || e->openai != NULL)
        settings_encoder =
            json_pack("{s:s?, s:s?, s:s?, s:o}", "http", e->http, "openai", e->openai, "model",
                      e->model, "headers", settings_list(e->headers));
    settings_corpora = json_object();
    for (size_t i = 0; i < settings->n_corpora; i++)
        json_object_set_new(settings_corpora, settings->corpora[i].name,
                            json_string(settings->corpora[i].path));
}

json_t *search_encoder_setting(void)
{
    return settings_encoder;
}

const char *search_corpus_path(const char *name)
{
    return json_string_value(json_object_get(settings_corpora, name));
}
