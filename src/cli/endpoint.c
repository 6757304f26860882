/* Where the daemon is: from flags, the environment or the data directory. Command line tool. */
#include "cli/client.h"
#include "policy/keys.h"
#include "serve/serve.h"

#include <fcntl.h>

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

int cli_data_dir(const char *given, char **ret, struct err *e)
{
    return serve_data_dir(given != NULL ? given : variable("CELLA_DATA"), ret, e);
}

/* http://HOST:PORT, http://[V6]:PORT; a path may only be "/". */
static int parse_url(const char *url, struct cli_endpoint *ret, struct err *e)
{
    const char *at = strncmp(url, "http://", 7) == 0 ? url + 7 : NULL;
    size_t host_len = 0;
    const char *rest = NULL;
    if (at != NULL && *at == '[') {
        at++;
        host_len = strcspn(at, "]");
        rest = at[host_len] == ']' ? at + host_len + 1 : NULL;
    } else if (at != NULL) {
        host_len = strcspn(at, ":/");
        rest = at + host_len;
    }
    size_t port_len = rest != NULL && *rest == ':' ? strspn(rest + 1, "0123456789") : 0;
    const char *end = port_len > 0 ? rest + 1 + port_len : NULL;
    bool is_ok = end != NULL && host_len > 0 && host_len < 256 && port_len <= 5 &&
                 (*end == '\0' || strcmp(end, "/") == 0) && strpbrk(url, "\r\n\t @") == NULL;
    if (!is_ok) {
        err_set(e, ERR_INVALID, "'%.128s' is not an address of a daemon", url);
        return err_advise(e, "write http://HOST:PORT (there is no https: use a tunnel or a proxy)");
    }
    ret->host = strndup(at, host_len);
    ret->port = strndup(rest + 1, port_len);
    if (ret->host == NULL || ret->port == NULL)
        abort();
    return 0;
}

int cli_endpoint_from(const struct cli_args *args, struct cli_endpoint *ret, struct err *e)
{
    *ret = (struct cli_endpoint){0};
    if (cli_data_dir(cli_value(args, "data"), &ret->data_dir, e) < 0)
        return -1;
    const char *url = cli_value(args, "url");
    /* A data directory named here is meant more than an address in the environment. */
    if (url == NULL && !cli_has(args, "data"))
        url = variable("CELLA_URL");
    if (url == NULL)
        return 0;
    if (parse_url(url, ret, e) < 0)
        return -1;
    const char *key = cli_value(args, "key");
    if (key == NULL)
        key = variable("CELLA_KEY");
    if (key != NULL) {
        ret->key = mem_strdup(key);
    } else {
        /* The key file is this user's own or unreadable; without a key the daemon will ask for it.
         */
        _fd_ int dir = open(ret->data_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        char text[KEYS_SIZE];
        struct err ignored;
        if (dir >= 0 && keys_read(dir, text, &ignored) == 0)
            ret->key = mem_strdup(text);
    }
    for (const char *c = ret->key; c != NULL && *c != '\0'; c++)
        if (*c <= ' ' || *c > '~')
            return err_set(e, ERR_INVALID, "the key has characters that no key has");
    return 0;
}

void cli_endpoint_free(struct cli_endpoint *endpoint)
{
    free(endpoint->data_dir);
    free(endpoint->host);
    free(endpoint->port);
    free(endpoint->key);
    *endpoint = (struct cli_endpoint){0};
}
