#include "cell/redact.h"
#include "unit.h"

/* Texts with secrets are written in two halves, so that this file has none. */
#define AWS                                                                                        \
    "AKIA"                                                                                         \
    "IOSFODNN7EXAMPLE"
#define ANTHROPIC                                                                                  \
    "sk-"                                                                                          \
    "ant-api03-abcdefghijklmnopqrstuvwxyz0123456789_-ABCDEFGH"
#define OPENAI                                                                                     \
    "sk-"                                                                                          \
    "proj-abcdefghijklmnopqrstuvwxyz0123456789_-ABCDEFGHIJ"
#define OPENAI_OLD                                                                                 \
    "sk-"                                                                                          \
    "abcdefghijklmnopqrstT3BlbkFJabcdefghijklmnopqrst"
#define GOOGLE                                                                                     \
    "AIza"                                                                                         \
    "SyA-1234567890abcdefghijklmnopqrstu"
#define GITHUB(kind)                                                                               \
    "gh" kind "_"                                                                                  \
    "0123456789abcdefghijABCDEFGHIJ012345"
#define GITHUB_FINE                                                                                \
    "github_"                                                                                      \
    "pat_0123456789abcdefghijAB_0123456789abcdefghijABCDEFGHIJ0123456789abcdefghijABCDEFGHI"
#define SLACK                                                                                      \
    "xox"                                                                                          \
    "b-123456789012-123456789012-abcdefABCDEF123456789012"
#define STRIPE                                                                                     \
    "sk_"                                                                                          \
    "live_0123456789abcdefABCDEF"
#define JWT                                                                                        \
    "eyJ"                                                                                          \
    "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
#define KEY_BODY                                                                                   \
    "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n"                     \
    "QyNTUxOQAAACBqfakekeyfakekeyfakekeyfakekeyfakekeyfakekey==\n"
#define KEY(kind)                                                                                  \
    "-----BEGIN " kind "PRIVATE KEY-----\n" KEY_BODY "-----END " kind "PRIVATE KEY-----"

static void assert_redacted(const char *text, const char *expected)
{
    _buf_ struct buf out = BUF_INIT(MIB);
    redact_text(text, strlen(text), &out);
    assert_string_equal(buf_str(&out), expected);
    /* What was redacted stays. */
    _buf_ struct buf again = BUF_INIT(MIB);
    redact_text(out.data, out.len, &again);
    assert_string_equal(buf_str(&again), expected);
}

static void assert_shown(const char *text)
{
    _buf_ struct buf out = BUF_INIT(MIB);
    size_t n = redact_text(text, strlen(text), &out);
    assert_string_equal(buf_str(&out), text);
    assert_int_equal(n, 0);
}

static void finds_each_category(void **state)
{
    (void)state;
    assert_redacted("id " AWS " ok", "id [REDACTED:aws_access_key] ok");
    assert_redacted("(" ANTHROPIC ")", "([REDACTED:anthropic_key])");
    assert_redacted("x=" OPENAI ",", "x=[REDACTED:openai_key],");
    assert_redacted(OPENAI_OLD, "[REDACTED:openai_key]");
    assert_redacted("?key=" GOOGLE "&x", "?key=[REDACTED:gcloud_key]&x");
    assert_redacted(GITHUB("p"), "[REDACTED:github_pat]");
    assert_redacted(GITHUB("o") "\n", "[REDACTED:github_oauth]\n");
    assert_redacted(GITHUB("u") " " GITHUB("s") " " GITHUB("r"),
                    "[REDACTED:github_app] [REDACTED:github_app] [REDACTED:github_app]");
    assert_redacted("'" GITHUB_FINE "'", "'[REDACTED:github_fine_grained]'");
    assert_redacted(SLACK, "[REDACTED:slack_token]");
    assert_redacted(STRIPE, "[REDACTED:stripe_key]");
    assert_redacted("Authorization: Bearer abcdef0123456789abcdef\r\n",
                    "Authorization: Bearer [REDACTED:bearer_token]\r\n");
    assert_redacted("-H 'authorization: bearer " ANTHROPIC "'",
                    "-H 'authorization: bearer [REDACTED:anthropic_key]'");
    assert_redacted("jwt=" JWT " end", "jwt=[REDACTED:bearer_token] end");
    assert_redacted("postgresql://user:pass@host:5432/db?x=1 ok",
                    "postgresql://[REDACTED:connection_string] ok");
    assert_redacted("\"redis://:hunter2@cache\"", "\"redis://[REDACTED:connection_string]\"");
    assert_redacted("a\n" KEY("OPENSSH ") "\nb", "a\n[REDACTED:ssh_private_key]\nb");
    assert_redacted(KEY("RSA ") KEY(""), "[REDACTED:ssh_private_key][REDACTED:ssh_private_key]");
}

static void finds_values_of_secret_names(void **state)
{
    (void)state;
    assert_redacted("DB_PASSWORD=hunter2!\n", "DB_PASSWORD=[REDACTED:env_secret]\n");
    assert_redacted("export API_KEY=\"a b&c'd\";", "export API_KEY=\"[REDACTED:env_secret]\";");
    assert_redacted("{'MY_TOKEN': 'abc-def', 'HOME': '/root'}",
                    "{'MY_TOKEN': '[REDACTED:env_secret]', 'HOME': '/root'}");
    assert_redacted("{\"client_secret\": \"GOCSPX-0123456789abc\"}",
                    "{\"client_secret\": \"[REDACTED:env_secret]\"}");
    assert_redacted("{\\\"API_KEY\\\": \\\"abc123def456\\\"}",
                    "{\\\"API_KEY\\\": \\\"[REDACTED:env_secret]\\\"}");
    assert_redacted("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n",
                    "aws_secret_access_key = [REDACTED:env_secret]\n");
    assert_redacted("?access_token=0123456789abcdef&page=2",
                    "?access_token=[REDACTED:env_secret]&page=2");
    assert_redacted("AccountKey=0123456789abcdefABCDEF==;Endpoint",
                    "AccountKey=[REDACTED:env_secret];Endpoint");
    assert_redacted("API_KEY=" ANTHROPIC, "API_KEY=[REDACTED:anthropic_key]");
}

static void a_color_or_an_escape_begins_a_word(void **state)
{
    (void)state;
    assert_redacted("\x1b[1;31m" ANTHROPIC "\x1b[0m", "\x1b[1;31m[REDACTED:anthropic_key]\x1b[0m");
    assert_redacted("\"a\\n" AWS "\"", "\"a\\n[REDACTED:aws_access_key]\"");
    assert_redacted(
        "\"-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG\\n-----END PRIVATE KEY-----\\n\"",
        "\"[REDACTED:ssh_private_key]\\n\"");
}

static void ordinary_text_is_shown(void **state)
{
    (void)state;
    assert_shown("");
    assert_shown("commit e15961be0c2f4a5b6d7e8f90123456789abcdef0 (HEAD -> main)");
    assert_shown("sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08");
    assert_shown("id: 550e8400-e29b-41d4-a716-446655440000, token_count: 1234567890123456");
    assert_shown(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJ"
        "RU5ErkJggg==");
    assert_shown("pip install scikit-learn task-runner sk-learn-contrib-something-very-long-2");
    assert_shown("see https://example.com:8080/a@b and http://localhost:7300/?a=b:c@d");
    assert_shown("git clone git@github.com:a/b.git; ssh://git@host/x; https://user@host/");
    assert_shown("The bearer of this letter; Bearer authentication-is-required; Bearer realm=x");
    assert_shown("password = getpass(); token = get_token(1); api_key=api_key, key=lambda x: x");
    assert_shown("if TOKEN == \"abcdefgh\": API_KEY = os.environ[\"API_KEY\"]; PASSWORD=$PASSWORD");
    assert_shown("PWD=/home/user OLDPWD=/home/user MAX_TOKENS=4096000 TOKEN=0");
    assert_shown("PASSWORD: required when logging in. SECRET: see below. passwords: none");
    assert_shown("API_KEY=<your key> API_KEY=${KEY} API_KEY=xxxxxxxx api_key: your_api_key_1234");
    assert_shown(
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkq\n-----END CERTIFICATE-----");
    assert_shown("A file starts with -----BEGIN PRIVATE KEY----- and ends so, too.");
    assert_shown("AKIA is a prefix; AKIAIOSFODNN7; XAKIAIOSFODNN7EXAMPLE AKIAIOSFODNN7EXAMPLEX");
    assert_shown(
        "eyJhbGciOiJIUzI1NiJ9 eyJhbGciOiJIUzI1NiJ9.eyJzdWIi ghp_short xoxb-short sk_live_x");
    assert_shown("def f(a: int = 1, b: str = \"x\") -> dict[str, int]: return {a: b}");
}

static const char all_of_them[] =
    "head " AWS " x " ANTHROPIC "\nAPI_KEY = \"secret value1\" Bearer abcdef0123456789abcdef\n"
    "mongodb+srv://u:p@h/db " KEY(
        "EC ") " tail " JWT "\n{\"password\": \"abc123def456\"} " SLACK
               " -----BEGIN PRIVATE KEY----- prose DB_PASSWORD=hunter2 " GITHUB_FINE;

/* However the text is cut, the result is the same: into two parts at each place, into parts of each
 * length. */
static void chunks_do_not_matter(void **state)
{
    (void)state;
    size_t len = sizeof(all_of_them) - 1;
    _buf_ struct buf whole = BUF_INIT(MIB);
    assert_int_equal(redact_text(all_of_them, len, &whole), 11);
    for (size_t cut = 0; cut <= 2 * len; cut++) {
        _buf_ struct buf out = BUF_INIT(MIB);
        struct redactor r;
        redactor_init(&r);
        if (cut <= len) {
            assert_true(redactor_add(&r, all_of_them, cut, &out));
            assert_true(redactor_add(&r, all_of_them + cut, len - cut, &out));
        } else {
            size_t step = cut - len;
            for (size_t at = 0; at < len; at += step)
                assert_true(redactor_add(&r, all_of_them + at, MIN(step, len - at), &out));
        }
        assert_true(redactor_end(&r, &out));
        assert_string_equal(buf_str(&out), buf_str(&whole));
        redactor_free(&r);
    }
}

/* The same for texts that a generator makes of pieces of secrets, and cuts anywhere. */
static void random_chunks_do_not_matter(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        AWS,
        ANTHROPIC,
        GOOGLE,
        "sk-",
        "ghp_",
        "eyJ",
        JWT,
        ".",
        "://",
        "u:p@h",
        "Bearer ",
        "=",
        ": ",
        "API_KEY",
        "password",
        "\"",
        "'",
        "\\",
        "-----BEGIN ",
        "PRIVATE KEY-----",
        KEY("RSA "),
        "-----END ",
        "\n",
        " ",
        "abc123DEF456ghi789JKL",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "\x1b[1m",
        "\xc3\xa4",
        SLACK,
        STRIPE,
        "postgres",
    };
    unsigned seed = 1;
    for (int round = 0; round < 300; round++) {
        _buf_ struct buf text = BUF_INIT(MIB), whole = BUF_INIT(MIB), out = BUF_INIT(MIB);
        for (int i = 0; i < 60; i++)
            buf_append_str(&text, pieces[(size_t)rand_r(&seed) % ARRAY_LEN(pieces)]);
        redact_text(text.data, text.len, &whole);
        struct redactor r;
        redactor_init(&r);
        for (size_t at = 0, n; at < text.len; at += n) {
            n = MIN((size_t)rand_r(&seed) % 40 + 1, text.len - at);
            redactor_add(&r, text.data + at, n, &out);
            assert_true(r.held.len - r.at <= REDACT_HELD_MAX);
        }
        redactor_end(&r, &out);
        assert_string_equal(buf_str(&out), buf_str(&whole));
        redactor_free(&r);
    }
}

static void finds_secrets_in_large_texts(void **state)
{
    (void)state;
    _buf_ struct buf text = BUF_INIT(8 * MIB), out = BUF_INIT(8 * MIB);
    enum { EVERY = 100000, N = 30 };
    for (int i = 0; i < N; i++) {
        for (int n = 0; n < EVERY; n += 10)
            buf_append_str(&text, "some words");
        buf_append_str(&text, " " ANTHROPIC " ");
    }
    assert_int_equal(redact_text(text.data, text.len, &out), N);
    assert_null(strstr(out.data, "sk-"));
    assert_int_equal(out.len,
                     text.len - N * (strlen(ANTHROPIC) - strlen("[REDACTED:anthropic_key]")));
}

static void long_secrets_go_as_a_whole(void **state)
{
    (void)state;
    _buf_ struct buf text = BUF_INIT(MIB), out = BUF_INIT(MIB);
    buf_append_str(&text, "Bearer ");
    for (int i = 0; i < 20000; i++)
        buf_append_str(&text, "abc1");
    buf_append_str(&text, " end");
    redact_text(text.data, text.len, &out);
    assert_string_equal(buf_str(&out), "Bearer [REDACTED:bearer_token] end");

    /* A key without an end: as much as a key may have is gone. */
    buf_clear(&text);
    buf_clear(&out);
    buf_append_str(&text, "-----BEGIN PRIVATE KEY-----\n");
    while (text.len < 2 * REDACT_KEY_MAX)
        buf_append_str(&text, "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz\n");
    redact_text(text.data, text.len, &out);
    assert_int_equal(out.len, text.len - strlen("-----BEGIN PRIVATE KEY-----") - REDACT_KEY_MAX +
                                  strlen("[REDACTED:ssh_private_key]"));
}

/* Text that is full of beginnings is passed once, not once for each of them: else this would not
 * end. */
static void hostile_text_takes_no_longer(void **state)
{
    (void)state;
    static const char *const parts[] = {"sk-ant-",
                                        "eyJ",
                                        "eyJaaaaaaaaaa.eyJ",
                                        "ghp_",
                                        "token=",
                                        "://a:",
                                        "API_KEY=API_KEY:",
                                        "Bearer ",
                                        "-----BEGIN ",
                                        "AKIA",
                                        "=",
                                        "-----BEGIN PRIVATE KEY-----",
                                        "password: \""};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        _buf_ struct buf text = BUF_INIT(MIB), out = BUF_INIT(4 * MIB);
        while (text.len < MIB / 4)
            buf_append_str(&text, parts[i]);
        redact_text(text.data, text.len, &out);
        assert_false(out.overflowed);
    }
}

static void says_when_it_does_not_fit(void **state)
{
    (void)state;
    _buf_ struct buf out = BUF_INIT(8);
    struct redactor r;
    redactor_init(&r);
    redactor_add(&r, "a text of words", 15, &out);
    assert_false(redactor_end(&r, &out));
    redactor_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_each_category),
        cmocka_unit_test(finds_values_of_secret_names),
        cmocka_unit_test(a_color_or_an_escape_begins_a_word),
        cmocka_unit_test(ordinary_text_is_shown),
        cmocka_unit_test(chunks_do_not_matter),
        cmocka_unit_test(random_chunks_do_not_matter),
        cmocka_unit_test(finds_secrets_in_large_texts),
        cmocka_unit_test(long_secrets_go_as_a_whole),
        cmocka_unit_test(hostile_text_takes_no_longer),
        cmocka_unit_test(says_when_it_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
