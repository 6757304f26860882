/* Files that go with the state: a real warden, its archivist, and jails whose files they are. */
#include "blob/blob.h"
#include "warden_world.h"

/* Runs what it is sent, as Python, in /workspace. */
#define AGENT                                                                                      \
    "import os, socket\n"                                                                          \
    "out = socket.socket(fileno=3)\n"                                                              \
    "def say(*words): out.sendall((' '.join(map(str, words)) + '\\n').encode())\n"                 \
    "def put(path, text):\n"                                                                       \
    "    with open(path, 'w') as f: f.write(text)\n"                                               \
    "while True:\n"                                                                                \
    "    order = out.recv(65536)\n"                                                                \
    "    if not order: os._exit(0)\n"                                                              \
    "    exec(order.decode(), globals())\n"                                                        \
    "    say('did it')\n"

static const struct archive_budget plenty = {
    .files = 1000, .bytes = (uint64_t)4 << 30, .new_bytes = (uint64_t)4 << 30};

static struct head begin(void)
{
    static uint32_t zygote;
    static const struct warden *of;
    if (of != here.warden)
        zygote = python_zygote(AGENT);
    of = here.warden;
    struct head h = enter_usual(zygote, 0);
    await(WARDEN_ENTERED, h.number);
    return h;
}

static void leave(struct head *h)
{
    destroy(h->jail);
    forget(h);
}

static const char *order(struct head *h, const char *code)
{
    h->len = 0;
    h->heard[0] = '\0';
    say(h, code);
    return hear(h, "did it\n");
}

static void said(struct head *h, const char *code, const char *words)
{
    if (strstr(order(h, code), words) == NULL)
        fail_msg("'%s', not '%s'", h->heard, words);
}

/* ---- orders ---------------------------------------------------------------------------------- */

static const char *workspace_of(const struct head *h)
{
    static char name[32];
    snprintf(name, sizeof(name), "ws-%llu", (unsigned long long)h->jail);
    return name;
}

static uint64_t ask_record(const struct head *h)
{
    struct err e;
    uint64_t ticket = ++here.last_number;
    assert_int_equal(warden_record(here.warden, ticket, workspace_of(h), "", &plenty, &e), 0);
    return ticket;
}

static uint64_t ask_restore(const struct head *h, const char *manifest)
{
    struct err e;
    uint64_t ticket = ++here.last_number;
    assert_int_equal(warden_restore(here.warden, ticket, workspace_of(h), manifest, &e), 0);
    return ticket;
}

struct manifest_name {
    char hex[BLOB_HEX_SIZE];
};

static struct manifest_name name_in(const char *text)
{
    struct manifest_name name = {0};
    static const char start[] = "{\"manifest\":\"";
    if (strncmp(text, start, sizeof(start) - 1) != 0)
        fail_msg("%s", text);
    memcpy(name.hex, text + sizeof(start) - 1, BLOB_HEX_SIZE - 1);
    return name;
}

static struct manifest_name record(const struct head *h)
{
    const char *text = await(WARDEN_RECORDED, ask_record(h))->text;
    assert_non_null(strstr(text, "\"torn\":false,\"over_budget\":false}"));
    return name_in(text);
}

static void restore(const struct head *h, struct manifest_name manifest, const char *counts)
{
    const char *text = await(WARDEN_RESTORED, ask_restore(h, manifest.hex))->text;
    if (strncmp(text, counts, strlen(counts)) != 0 || strstr(text, "\"errors\":[]") == NULL)
        fail_msg("%s", text);
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void what_cells_did_to_files_is_undone(void **state)
{
    (void)state;
    struct head h = begin();
    struct manifest_name nothing = record(&h);
    order(&h, "put('f', 'one'); os.mkdir('closed'); put('closed/x', 'x'); os.chmod('closed', 0)\n"
              "put('mine', 'secret'); os.chmod('mine', 0)");
    struct manifest_name one = record(&h);
    order(&h, "put('f', 'two'); os.chmod('closed', 0o700); os.unlink('closed/x')\n"
              "os.rmdir('closed'); os.unlink('mine'); os.symlink('/etc/passwd', 'closed')");
    struct manifest_name two = record(&h);
    order(&h, "inode = os.stat('f').st_ino; held = open('f')");
    restore(&h, one, "{\"changed\":1,\"removed\":1,\"created\":3,");
    said(&h, "say(open('f').read(), held.read(), os.stat('f').st_ino == inode)", "one one True");
    said(&h, "say(oct(os.stat('closed').st_mode), oct(os.stat('mine').st_mode))",
         "0o40000 0o100000");
    said(&h,
         "os.chmod('closed', 0o700); os.chmod('mine', 0o600)\n"
         "say(open('closed/x').read(), open('mine').read(), os.stat('closed/x').st_uid)",
         "x secret 1000");
    restore(&h, two, "{\"changed\":1,\"removed\":3,\"created\":1,");
    said(&h, "say(open('f').read(), os.readlink('closed'), sorted(os.listdir()))",
         "two /etc/passwd ['closed', 'f']");
    restore(&h, nothing, "{\"changed\":0,\"removed\":2,\"created\":0,");
    said(&h, "say(os.listdir())", "[]");
    order(&h, "os.makedirs('a/b'); put('a/b/c', '')");
    restore(&h, (struct manifest_name){""}, "{\"changed\":0,\"removed\":3,\"created\":0,");
    said(&h, "say(os.listdir())", "[]");
    leave(&h);
}

/* The archivist is another user than the jail's, and has to find out all the same. */
static void a_store_into_mapped_memory_is_seen(void **state)
{
    (void)state;
    struct head h = begin();
    order(&h, "import mmap; put('m', 'x' * 8192); f = open('m', 'r+b')\n"
              "m = mmap.mmap(f.fileno(), 8192); f.close(); m[5000] = 49");
    /* Older than any tick of a clock. */
    order(&h, "import time; time.sleep(0.03)");
    struct manifest_name one = record(&h);
    order(&h, "m[5000] = 50");
    struct manifest_name two = record(&h);
    assert_string_not_equal(one.hex, two.hex);
    assert_string_equal(record(&h).hex, two.hex);
    restore(&h, one, "{\"changed\":1,");
    said(&h, "say(m[5000], open('m', 'rb').read()[5000])", "49 49");
    leave(&h);
}

/* Its files are the other jail's then. */
static void a_branch_gets_a_copy(void **state)
{
    (void)state;
    struct head a = begin(), b = begin();
    order(&a, "os.makedirs('d/e'); put('d/e/f', 'text'); os.symlink('d/e/f', 'l')");
    struct manifest_name state_of_a = record(&a);
    restore(&b, state_of_a, "{\"changed\":0,\"removed\":0,\"created\":4,");
    said(&b,
         "say(open('l').read()); put('d/e/f', 'other'); put('d/new', ''); os.rename('d', 'g')\n"
         "say(os.stat('g/e/f').st_uid, os.lstat('l').st_uid)",
         "text\n1000 1000");
    said(&a, "say(open('d/e/f').read())", "text");
    leave(&a);
    leave(&b);
}

static void orders_about_one_workspace_keep_their_order(void **state)
{
    (void)state;
    struct head h = begin();
    order(&h, "put('f', '1')");
    struct manifest_name one = record(&h);
    order(&h, "put('f', '2'); put('g', '2')");
    uint64_t second = ask_record(&h), back = ask_restore(&h, one.hex), third = ask_record(&h);
    await(WARDEN_RECORDED, third);
    assert_non_null(find(WARDEN_RECORDED, second));
    assert_non_null(find(WARDEN_RESTORED, back));
    assert_string_equal(name_in(find(WARDEN_RECORDED, third)->text).hex, one.hex);
    said(&h, "say(os.listdir(), open('f').read())", "['f'] 1");
    leave(&h);
}

static void a_workspace_that_is_not_there_is_told(void **state)
{
    (void)state;
    struct err e;
    struct head nobody = {.jail = 999999};
    assert_non_null(strstr(await(WARDEN_RECORDED, ask_record(&nobody))->text,
                           "\"reason\":\"the workspace cannot be opened: No such file"));
    struct blob_hash hash = {{1}};
    char hex[BLOB_HEX_SIZE];
    blob_hex(&hash, hex);
    assert_non_null(strstr(await(WARDEN_RESTORED, ask_restore(&nobody, hex))->text,
                           "\"errors\":[\"the workspace cannot be opened: No such file"));
    assert_int_equal(warden_record(here.warden, 1, "../etc", "", &plenty, &e), -1);
    assert_int_equal(warden_restore(here.warden, 1, "ws", "../../etc/passwd", &e), -1);
}

/* ---- the archivist's end --------------------------------------------------------------------- */

static pid_t parent_of(pid_t pid)
{
    char path[64];
    _free_ char *text = NULL;
    int parent = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (fd_read_file(AT_FDCWD, path, 4096, &text, NULL) < 0)
        return 0;
    const char *end = strrchr(text, ')');
    /* One that was killed keeps its name until the warden has looked after it. */
    char run_state = 'Z';
    if (end == NULL || sscanf(end, ") %c %d", &run_state, &parent) != 2 || run_state == 'Z')
        return 0;
    return parent;
}

/* Ours: other daemons may run on this machine. */
static pid_t find_archivist(void)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    pid_t found = 0;
    while (found == 0 && (entry = readdir(proc)) != NULL) {
        char path[64];
        _free_ char *name = NULL;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
        if (pid > 0 && fd_read_file(AT_FDCWD, path, 64, &name, NULL) == 0 &&
            strcmp(name, "cella-archivist\n") == 0 &&
            parent_of(parent_of(parent_of(pid))) == getpid())
            found = pid;
    }
    closedir(proc);
    return found;
}

/* Gigabytes of nothing take long to read and no space. */
#define MAKE_BIG "for name in 'xyz': open(name, 'w').truncate(900 << 20)"

static void a_big_workspace_does_not_hold_up_the_others(void **state)
{
    (void)state;
    struct head big = begin(), small = begin();
    order(&big, MAKE_BIG);
    order(&small, "put('f', 'text')");
    uint64_t slow = ask_record(&big);
    for (int i = 0; i < 5; i++)
        record(&small);
    assert_null(find(WARDEN_RECORDED, slow));
    pid_t first = find_archivist();
    assert_true(first > 0);
    /* Killed in the middle: who waits is answered, and the next order is carried out. */
    uint64_t behind = ask_restore(&big, record(&small).hex);
    assert_int_equal(kill(first, SIGKILL), 0);
    assert_non_null(strstr(await(WARDEN_RECORDED, slow)->text, "ended meanwhile"));
    /* The next archivist may have got that order: it was not begun. */
    bool was_lost = strstr(await(WARDEN_RESTORED, behind)->text, "ended meanwhile") != NULL;
    record(&small);
    assert_true(find_archivist() > 0 && find_archivist() != first);
    said(&big, "say(sorted(os.listdir()))", was_lost ? "['x', 'y', 'z']" : "['f']");
    leave(&big);
    leave(&small);
}

static void a_restore_that_was_cut_short_is_given_again(void **state)
{
    (void)state;
    struct head h = begin();
    order(&h, "for i in range(16):\n"
              "    with open(f'f{i}', 'wb') as f: f.truncate(8 << 20); f.write(b'%d' % i)\n");
    struct manifest_name before = record(&h);
    order(&h, "for i in range(16): os.truncate(f'f{i}', i)\n"
              "os.unlink('f3'); put('new', 'new')");
    uint64_t cut = ask_restore(&h, before.hex);
    pid_t pid = find_archivist();
    assert_true(pid > 0);
    kill(pid, SIGKILL);
    await(WARDEN_RESTORED, cut); /* with an error, unless it was faster */
    restore(&h, before, "{");
    assert_string_equal(record(&h).hex, before.hex);
    leave(&h);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cells_did_to_files_is_undone),
        cmocka_unit_test(a_store_into_mapped_memory_is_seen),
        cmocka_unit_test(a_branch_gets_a_copy),
        cmocka_unit_test(orders_about_one_workspace_keep_their_order),
        cmocka_unit_test(a_workspace_that_is_not_there_is_told),
        cmocka_unit_test(a_big_workspace_does_not_hold_up_the_others),
        cmocka_unit_test(a_restore_that_was_cut_short_is_given_again),
    };
    return cmocka_run_group_tests(tests, start, stop);
}

int main(void)
{
    return run_twice(run);
}
