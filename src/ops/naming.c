/* Names and labels of sessions, in the daemon. */
#include "ops/naming.h"

#include "base/ids.h"
#include "policy/policy.h"
#include "session/session.h"

#include <ctype.h>

static bool naming_is_word(const char *text, size_t max, const char *marks)
{
    size_t len = strlen(text);
    if (len == 0 || len > max || !isalnum((unsigned char)text[0]))
        return false;
    for (const char *c = text; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr(marks, *c) == NULL)
            return false;
    return true;
}

static bool naming_is_called(const struct session *session, const char *name)
{
    return !session->is_unlisted && session->name != NULL && strcmp(session->name, name) == 0;
}

int naming_check(const struct call *call, const char *agent, const char *name,
                 const struct session *self, struct err *e)
{
    if (!naming_is_word(name, NAMING_NAME_MAX, "._-") || ids_is_uuid(name, strlen(name))) {
        err_set(e, ERR_INVALID, "\"%.64s\" cannot be a session's name", name);
        return err_advise(e,
                          "Up to %d letters of ASCII, digits, \".\", \"_\" and \"-\", beginning "
                          "with a letter or digit; not the form of an id.",
                          NAMING_NAME_MAX);
    }
    const char *owner = agent != NULL ? agent : CONFIG_DEFAULT_AGENT;
    for (struct session *s = session_next(call->engine, NULL); s != NULL;
         s = session_next(call->engine, s)) {
        if (s == self || s->state == SESSION_DEAD || !naming_is_called(s, name) ||
            strcmp(policy_agent_of(s), owner) != 0)
            continue;
        err_set(e, ERR_CONFLICT, "the session %s is called \"%s\" already", s->id, name);
        return err_advise(e, "Use that one, delete it, or take another name.");
    }
    return 0;
}

int naming_check_labels(const json_t *labels, struct err *e)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)labels, key, value) {
        if (!naming_is_word(key, NAMING_KEY_MAX, "._-/")) {
            err_set(e, ERR_INVALID, "\"%.64s\" cannot be a label", key);
            return err_advise(e,
                              "Up to %d letters of ASCII, digits, \".\", \"_\", \"-\" and \"/\", "
                              "beginning with a letter or digit.",
                              NAMING_KEY_MAX);
        }
        if (json_string_length(value) > NAMING_VALUE_MAX)
            return err_set(e, ERR_INVALID, "the label \"%s\" has %zu bytes; at most %d are taken",
                           key, json_string_length(value), NAMING_VALUE_MAX);
    }
    return 0;
}

json_t *naming_merge(const json_t *before, const json_t *changes)
{
    const char *key;
    json_t *value;
    json_t *labels = before != NULL ? json_deep_copy(before) : json_object();
    json_object_foreach((json_t *)(uintptr_t)changes, key, value) {
        if (json_string_length(value) > 0)
            json_object_set(labels, key, value);
        else
            json_object_del(labels, key);
    }
    if (json_object_size(labels) > 0)
        return labels;
    json_decref(labels);
    return NULL;
}

struct session *naming_find(const struct call *call, const char *name, struct err *e)
{
    struct session *living = NULL, *dead = NULL, *own = NULL;
    size_t n_living = 0;
    for (struct session *s = session_next(call->engine, NULL); s != NULL;
         s = session_next(call->engine, s)) {
        if (!naming_is_called(s, name) || !call_sees(call, s->agent))
            continue;
        if (s->state == SESSION_DEAD) {
            dead = s; /* the last that ended */
            continue;
        }
        living = s;
        n_living++;
        if (strcmp(policy_agent_of(s), call_owner(call)) == 0)
            own = s;
    }
    if (own != NULL || n_living == 1)
        return own != NULL ? own : living;
    if (n_living > 1) {
        err_set(e, ERR_CONFLICT, "%zu agents have a session called \"%.64s\"", n_living, name);
        err_advise(e, "Speak for one of them, or name the session by its id.");
        return NULL;
    }
    if (dead == NULL) {
        err_set(e, ERR_NOT_FOUND, "there is no session %.64s", name);
        err_advise(e, "GET /v1/sessions lists those that exist; POST /v1/sessions creates one.");
    }
    return dead;
}
