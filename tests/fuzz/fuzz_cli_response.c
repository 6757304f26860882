/* A daemon that may say anything: the first byte says in which steps the rest arrives, then it is
 * an HTTP response, and if that is a stream its events are JSON that is shown. */
#include "cli/api.h"
#include "cli/response.h"
#include "cli/show.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool take_event(void *context, const char *name, const char *text, size_t len)
{
    (void)context;
    (void)name;
    struct err e;
    _json_ json_t *event = NULL;
    if (cli_api_read(text, len, &event, &e) < 0)
        return false;
    _buf_ struct buf shown = BUF_INIT(1 * MIB);
    cli_describe_output(&shown, event);
    return true;
}

static bool take_stream(void *context, const char *data, size_t len)
{
    return cli_sse_feed(context, data, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t step = (size_t)data[0] + 1;
    const char *bytes = (const char *)data + 1;
    size--;
    struct cli_sse sse;
    struct cli_response response;
    cli_sse_init(&sse, take_event, NULL);
    cli_response_init(&response, take_stream, &sse);
    enum cli_response_state state = CLI_RESPONSE_MORE;
    for (size_t i = 0; i < size && state == CLI_RESPONSE_MORE; i += step)
        state = cli_response_feed(&response, bytes + i, MIN(step, size - i));
    if (state == CLI_RESPONSE_MORE)
        state = cli_response_end(&response);
    if (state == CLI_RESPONSE_DONE && !response.is_stream)
        take_event(NULL, "", buf_str(&response.body), response.body.len);
    cli_response_free(&response);
    cli_sse_free(&sse);
    return 0;
}
