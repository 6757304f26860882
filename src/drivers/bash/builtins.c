/* Calls builtins of the shell and catches what they print. In the shell's process. */
/* clang-format off */
#include "drivers/bash/shell.h"
/* clang-format on */

#include "drivers/bash/builtins.h"

struct builtin_call {
    const char *command;
    int status;
};

void builtins_capture(void (*print)(void *context), void *context, struct buf *out)
{
    char *data = NULL;
    size_t len = 0;
    FILE *real = stdout;
    fflush(stdout);
    FILE *memory = open_memstream(&data, &len);
    if (memory == NULL)
        return;
    stdout = memory;
    print(context);
    stdout = real;
    fclose(memory);
    if (out != NULL)
        buf_append(out, data, len);
    free(data);
}

static WORD_LIST *words_of(const char *text)
{
    WORD_LIST *words = NULL;
    while (*text != '\0') {
        size_t len = strcspn(text, " ");
        char *word = mem_copy(text, len + 1);
        word[len] = '\0';
        words = make_word_list(make_word(word), words);
        free(word);
        text += len + strspn(text + len, " ");
    }
    return REVERSE_LIST(words, WORD_LIST *);
}

static void call_builtin(void *context)
{
    struct builtin_call *call = context;
    WORD_LIST *words = words_of(call->command);
    struct builtin *found = words == NULL ? NULL : builtin_address_internal(words->word->word, 1);
    if (found != NULL && found->function != NULL) {
        this_shell_builtin = found->function;
        call->status = found->function(words->next);
        this_shell_builtin = NULL;
    }
    dispose_words(words);
}

int builtins_run(const char *command, struct buf *out)
{
    struct builtin_call call = {.command = command, .status = EXECUTION_FAILURE};
    builtins_capture(call_builtin, &call, out);
    return call.status;
}
