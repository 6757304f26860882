#include "base/buf.h"
#include "base/fd.h"
#include "policy/config.h"
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>

static struct config parse(const char *text)
{
    struct config c;
    struct err e = {0};
    if (config_parse(text, strlen(text), "test.yaml", &c, &e) < 0)
        fail_msg("%s (%s)", e.message, e.advice);
    return c;
}

static void nothing_means_the_defaults(void **state)
{
    (void)state;
    static const char *const texts[] = {"",      "\n", "# only a comment\n",
                                        "---\n", "{}", "--- {}\n...\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct config c = parse(texts[i]);
        assert_string_equal(c.python, "/usr/bin/python3");
        assert_string_equal(c.node, "/usr/bin/node");
        assert_string_equal(c.bash, "/usr/bin/bash");
        assert_string_equal(c.default_profile, "data");
        assert_int_equal(c.n_profiles, 2);
        assert_int_equal(c.pool, 4);
        assert_int_equal(c.limits.memory_mb, 512);
        assert_int_equal(c.limits.cpu_percent, 100);
        assert_int_equal(c.limits.pids, 128);
        assert_int_equal(c.limits.disk_mb, 1024);
        assert_int_equal(c.limits.cpu_seconds, 0);
        assert_int_equal(c.max_sessions, 4096);
        assert_int_equal(c.max_output_bytes, 4194304);
        assert_int_equal(c.idle_timeout_secs, 600);
        assert_int_equal(c.max_age_secs, 86400);
        config_free(&c);
    }
}

static bool preloads(const struct config_profile *p, const char *item)
{
    for (size_t i = 0; i < p->n_preload; i++)
        if (strcmp(p->preload[i], item) == 0)
            return true;
    return false;
}

static void the_built_in_profiles(void **state)
{
    (void)state;
    struct config c = parse("");
    const struct config_profile *min = config_find_profile(&c, "min");
    assert_int_equal(min->n_preload, 0);
    assert_null(min->preload[0]);
    const struct config_profile *data = config_find_profile(&c, "data");
    assert_string_equal(data->python, "/usr/bin/python3");
    assert_int_equal(data->n_preload, 19);
    assert_null(data->preload[19]);
    assert_true(preloads(data, "import numpy as np"));
    assert_true(preloads(data, "from scipy import stats, optimize, interpolate"));
    assert_true(preloads(data, "re"));
    assert_null(config_find_profile(&c, "other"));
    config_free(&c);
}

static void every_field_is_read(void **state)
{
    (void)state;
    struct config c = parse("python: /opt/python3.12/bin/python3\n"
                            "node: /opt/node/bin/node\n"
                            "bash: /opt/bash\n"
                            "default_profile: mine\n"
                            "profiles:\n"
                            "  min: {preload: [json]}\n"
                            "  data: {python: \"/usr/bin/python3\"}\n"
                            "  mine:\n"
                            "    preload:\n"
                            "    - import numpy as np\n"
                            "    - xml.etree.ElementTree\n"
                            "  bare: {}\n"
                            "pool: 0\n"
                            "limits: {memory_mb: 64, cpu_percent: 250, pids: 32, disk_mb: 10,\n"
                            "  cpu_seconds: 90, checkpoint_mb: 70}\n"
                            "max_sessions: 5\n"
                            "max_output_bytes: 1000000\n"
                            "idle_timeout_secs: 0\n"
                            "max_age_secs: 3600\n");
    assert_string_equal(c.file, "test.yaml");
    assert_string_equal(c.python, "/opt/python3.12/bin/python3");
    assert_string_equal(c.node, "/opt/node/bin/node");
    assert_string_equal(c.bash, "/opt/bash");
    assert_string_equal(c.default_profile, "mine");
    assert_int_equal(c.n_profiles, 4);
    assert_string_equal(config_find_profile(&c, "min")->preload[0], "json");
    assert_string_equal(config_find_profile(&c, "min")->python, "/opt/python3.12/bin/python3");
    assert_string_equal(config_find_profile(&c, "data")->python, "/usr/bin/python3");
    assert_int_equal(config_find_profile(&c, "data")->n_preload, 19);
    assert_string_equal(config_find_profile(&c, "mine")->preload[1], "xml.etree.ElementTree");
    assert_int_equal(config_find_profile(&c, "bare")->n_preload, 0);
    assert_int_equal(c.pool, 0);
    assert_int_equal(c.limits.memory_mb, 64);
    assert_int_equal(c.limits.cpu_percent, 250);
    assert_int_equal(c.limits.pids, 32);
    assert_int_equal(c.limits.disk_mb, 10);
    assert_int_equal(c.limits.cpu_seconds, 90);
    assert_int_equal(c.limits.checkpoint_mb, 70);
    assert_int_equal(c.max_sessions, 5);
    assert_int_equal(c.max_output_bytes, 1000000);
    assert_int_equal(c.idle_timeout_secs, 0);
    assert_int_equal(c.max_age_secs, 3600);
    config_free(&c);
}

/* The file that people start from must be read, and say the truth about the defaults. */
static void the_example_file_holds_the_defaults(void **state)
{
    (void)state;
    struct config example, defaults = parse("");
    struct err e = {0};
    if (config_load(SOURCE_ROOT "/packaging/cella.yaml", &example, &e) < 0)
        fail_msg("%s", e.message);
    assert_string_equal(example.python, defaults.python);
    assert_string_equal(example.node, defaults.node);
    assert_string_equal(example.bash, defaults.bash);
    assert_int_equal(example.idle_timeout_secs, defaults.idle_timeout_secs);
    assert_int_equal(example.max_age_secs, defaults.max_age_secs);
    assert_string_equal(example.default_profile, defaults.default_profile);
    assert_int_equal(example.pool, defaults.pool);
    assert_int_equal(example.max_sessions, defaults.max_sessions);
    assert_int_equal(example.max_output_bytes, defaults.max_output_bytes);
    assert_memory_equal(&example.limits, &defaults.limits, sizeof(defaults.limits));
    assert_int_equal(example.n_profiles, defaults.n_profiles);
    for (size_t i = 0; i < defaults.n_profiles; i++) {
        const struct config_profile *a = &defaults.profiles[i];
        const struct config_profile *b = config_find_profile(&example, a->name);
        assert_int_equal(a->n_preload, b->n_preload);
        for (size_t k = 0; k < a->n_preload; k++)
            assert_string_equal(a->preload[k], b->preload[k]);
    }
    config_free(&example);
    config_free(&defaults);
}

static void issuers_of_tokens(void **state)
{
    (void)state;
    struct config c = parse("agents: [{id: ana}]\n"
                            "oauth:\n"
                            "  resource: https://cella.example.com:8443\n"
                            "  leeway_secs: 0\n"
                            "  issuers:\n"
                            "    - {issuer: https://id, audience: [a, b], keys: [/k1, /k2],\n"
                            "       algorithms: [EdDSA], scopes: [x, y], agent_claim: who}\n"
                            "    - {issuer: librechat, audience: codeapi, keys: /k, agent: ana}\n"
                            "    - {issuer: other, audience: x, keys: /k}\n");
    const struct config_issuer *i = c.oauth.issuers;
    assert_int_equal(c.oauth.n_issuers, 3);
    assert_int_equal(c.oauth.leeway_secs, 0);
    assert_string_equal(c.oauth.resource, "https://cella.example.com:8443");
    assert_string_equal(i[0].audiences[1], "b");
    assert_string_equal(i[0].keys[1], "/k2");
    assert_string_equal(i[0].scopes[1], "y");
    assert_null(i[0].scopes[2]);
    assert_int_equal(i[0].algorithms, CONFIG_EDDSA);
    assert_string_equal(i[0].agent_claim, "who");
    assert_null(i[0].agent);
    assert_int_equal(i[1].algorithms, CONFIG_EDDSA | CONFIG_RS256);
    assert_string_equal(i[1].agent, "ana");
    assert_null(i[1].scopes[0]);
    assert_string_equal(i[2].agent, CONFIG_DEFAULT_AGENT);
    config_free(&c);
}

/* As the seed of it all has it. */
static void agents_and_bindings(void **state)
{
    (void)state;
    struct config c = parse("agents:\n"
                            "  - id: ana\n"
                            "    repl:\n"
                            "      enabled: true\n"
                            "      allowed_runtimes: [\"python\", \"node\"]\n"
                            "      max_sessions: 2\n"
                            "      timeout_secs: 60\n"
                            "      max_output_bytes: 131072\n"
                            "  - id: bob\n"
                            "inbound_bindings:\n"
                            "  - plugin: whatsapp\n"
                            "    repl:\n"
                            "      enabled: true\n"
                            "      allowed_runtimes: [\"python\"]\n"
                            "  - plugin: whatsapp\n"
                            "    agent: ana\n"
                            "    repl: {allowed_runtimes: []}\n"
                            "  - plugin: mail\n");
    assert_int_equal(c.n_agents, 3);
    const struct config_repl *ana = &config_find_agent(&c, "ana")->repl;
    assert_true(ana->is_enabled);
    assert_int_equal(ana->n_runtimes, 2);
    assert_string_equal(ana->runtimes[1], "node");
    assert_int_equal(ana->max_sessions, 2);
    assert_int_equal(ana->timeout_secs, 60);
    assert_int_equal(ana->max_output_bytes, 131072);
    const struct config_repl *bob = &config_find_agent(&c, "bob")->repl;
    assert_false(bob->is_enabled);
    assert_int_equal(bob->n_runtimes, 3);
    assert_int_equal(bob->max_sessions, 3);
    assert_int_equal(bob->timeout_secs, 30);
    assert_int_equal(bob->max_output_bytes, 65536);
    assert_true(config_find_agent(&c, "default")->repl.is_enabled);
    assert_null(config_find_agent(&c, "eve"));
    assert_int_equal(c.n_bindings, 3);
    assert_null(c.bindings[0].agent);
    assert_string_equal(c.bindings[1].agent, "ana");
    assert_int_equal(c.bindings[1].repl.n_runtimes, 0);
    assert_true(c.bindings[1].has_repl);
    assert_false(c.bindings[2].has_repl);
    config_free(&c);
}

static void the_default_agent_has_all_unless_it_is_configured(void **state)
{
    (void)state;
    struct config c = parse("max_sessions: 9\nmax_output_bytes: 70000\n");
    assert_int_equal(c.n_agents, 1);
    const struct config_repl *repl = &config_find_agent(&c, "default")->repl;
    assert_true(repl->is_enabled);
    assert_int_equal(repl->n_runtimes, 3);
    assert_int_equal(repl->max_sessions, 9);
    assert_int_equal(repl->max_output_bytes, 70000);
    assert_int_equal(repl->timeout_secs, 30);
    config_free(&c);
    c = parse("agents: [{id: default}]");
    assert_int_equal(c.n_agents, 1);
    assert_false(config_find_agent(&c, "default")->repl.is_enabled);
    config_free(&c);
}

static void limits_not_given_keep_their_defaults(void **state)
{
    (void)state;
    struct config c = parse("limits:\n  pids: 64\n");
    assert_int_equal(c.limits.pids, 64);
    config_free(&c);
    /* The same range as a request's, and a ceiling that is not below it. */
    c = parse("limits: {memory_mb: 4194304}\n");
    assert_int_equal(c.limits.memory_mb, 4194304);
    assert_int_equal(c.ceiling.memory_mb, 4194304);
    config_free(&c);
    c = parse("limits:\n  pids: 64\n");
    assert_int_equal(c.limits.memory_mb, 512);
    config_free(&c);
}

static void mistakes_name_line_and_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message, *advice;
    } cases[] = {
        {"pool: 4\nlimts: {}\n", "test.yaml:2: unknown field \"limts\"", "limits"},
        {"limits:\n  memory: 3\n", "test.yaml:2: unknown field \"memory\"", "memory_mb"},
        {"profiles:\n  x:\n    python: /p\n    imports: []\n",
         "test.yaml:4: unknown field \"imports\"", "preload"},
        {"pool: many\n", "test.yaml:1: pool: \"many\" is not a whole number from 0 to 1024",
         "pool: N"},
        {"pool: -1\n", "test.yaml:1: pool: \"-1\"", "0 to 1024"},
        {"pool: 1025\n", "test.yaml:1: pool: \"1025\"", "1024"},
        {"pool: 4.0\n", "\"4.0\"", "pool: N"},
        {"pool: 99999999999999999999999\n", "whole number", "pool: N"},
        {"pool:\n", "test.yaml:1: pool: \"\" is not a whole number", "pool: N"},
        {"pool: [1]\n", "pool has a list", "pool: N"},
        {"pool: {a: 1}\n", "pool has a mapping", "pool: N"},
        {"pool: \"1\\0\"\n", "a whole number is expected", "pool: N"},
        {"limits: {memory_mb: 8}\n", "memory_mb: \"8\"", "16"},
        {"limits: 5\n", "limits has a single value, but a mapping", "NAME: VALUE"},
        {"limits:\npool: 1\n", "limits has nothing", "{}"},
        {"max_sessions: 0\n", "max_sessions: \"0\"", "1"},
        {"max_output_bytes: 10\n", "max_output_bytes", "65536"},
        {"python: python3\n", "not an absolute path", "/usr/bin/python3"},
        {"node: node\n", "test.yaml:1: node: \"node\" is not an absolute path", "/usr/bin/node"},
        {"bash: []\n", "bash has a list, but text", "bash: TEXT"},
        {"idle_timeout_secs: never\n", "idle_timeout_secs: \"never\"", "0 to"},
        {"max_age_secs: -1\n", "max_age_secs: \"-1\"", "0 to"},
        {"python: [a]\n", "python has a list, but text", "python: TEXT"},
        {"python: \"/a\\nb\"\n", "control characters", "one line"},
        {"python: \"/a\\0b\"\n", "control characters", "one line"},
        {"default_profile: nope\n", "test.yaml:1: default_profile: there is no profile \"nope\"",
         "min, data"},
        {"profiles: [a]\n", "profiles has a list, but a mapping", "NAME: VALUE"},
        {"profiles: {a: [json]}\n", "a has a list, but a mapping", "NAME: VALUE"},
        {"profiles: {\"a/b\": {}}\n", "cannot have this name", "letters"},
        {"profiles: {\"a\\0b\": {}}\n", "cannot have this name", "letters"},
        {"profiles: {a: {preload: json}}\n", "preload has a single value, but a list", "[json"},
        {"profiles: {a: {preload: [[json]]}}\n", "an item of preload has a list", "TEXT"},
        {"profiles: {a: {preload: [\"\"]}}\n", "an item of preload has nothing", "TEXT"},
        {"profiles:\n  a:\n    preload:\n    - print(1)\n",
         "test.yaml:4: preload: \"print(1)\" is not an import", "import numpy as np"},
        {"profiles: {a: {preload: [\"import os; os.remove('x')\"]}}\n", "is not an import", "json"},
        {"profiles: {a: {preload: [a..b]}}\n", "is not an import", "json"},
        {"profiles: {a: {preload: [.a]}}\n", "is not an import", "json"},
        {"profiles: {a: {preload: [a.]}}\n", "is not an import", "json"},
        {"profiles: {a: {preload: [1a]}}\n", "is not an import", "json"},
        {"pool: 1\npool: 2\n", "test.yaml:2: \"pool\" is given twice", "one of the two"},
        {"profiles: {a: {}, a: {}}\n", "\"a\" is given twice", "one of the two"},
        {"profiles: {data: {}, data: {}}\n", "\"data\" is given twice", "one of the two"},
        {"limits: {pids: 9, pids: 9}\n", "\"pids\" is given twice", "one of the two"},
        {"agents: {}\n", "test.yaml:1: agents has a mapping, but a list", "id: NAME"},
        {"agents: [ana]\n", "an item of agents has a single value, but a mapping", "NAME: VALUE"},
        {"agents:\n- repl: {enabled: true}\n", "test.yaml:2: an agent has no id", "- id: NAME"},
        {"agents:\n- id: a\n- id: a\n", "test.yaml:3: the agent \"a\" is given twice",
         "one of the two"},
        {"agents: [{id: a, name: b}]\n", "unknown field \"name\"", "id, repl"},
        {"agents:\n- id: a\n  repl:\n    enable: true\n", "test.yaml:4: unknown field \"enable\"",
         "enabled, allowed_runtimes, max_sessions, timeout_secs, max_timeout_secs"},
        {"agents: [{id: a, repl: {enabled: yes}}]\n", "\"yes\" is neither true nor false",
         "enabled: true"},
        {"agents: [{id: a, repl: {enabled: [true]}}]\n", "enabled has a list, but true or false",
         "enabled: true"},
        {"agents: [{id: a, repl: {enabled: \"true\\0\"}}]\n", "true or false is expected",
         "enabled: true"},
        {"agents: [{id: a, repl: true}]\n", "repl has a single value, but a mapping",
         "NAME: VALUE"},
        {"agents: [{id: a b}]\n", "characters that a name cannot have", "letters"},
        {"agents: [{id: a/b}]\n", "characters that a name cannot have", "letters"},
        {"agents: [{id: \"a\\0b\"}]\n", "control characters", "one line"},
        {"agents: [{id: \"\"}]\n", "id has nothing, but text", "id: TEXT"},
        {"agents: [{id: [a]}]\n", "id has a list, but text", "id: TEXT"},
        {"agents: [{id: a, repl: {allowed_runtimes: python}}]\n",
         "allowed_runtimes has a single value, but a list", "[python, node, bash]"},
        {"agents: [{id: a, repl: {allowed_runtimes: [ruby]}}]\n", "there is no runtime \"ruby\"",
         "python, node, bash"},
        {"agents: [{id: a, repl: {allowed_runtimes: [node, node]}}]\n", "\"node\" is given twice",
         "one of the two"},
        {"agents:\n- id: a\n  repl: {allowed_runtimes: []}\n",
         "test.yaml:3: an agent's allowed_runtimes is empty", "enabled: false"},
        {"agents: [{id: a, repl: {max_sessions: 0}}]\n", "max_sessions: \"0\"", "1 to"},
        {"agents: [{id: a, repl: {timeout_secs: 0}}]\n", "timeout_secs: \"0\"", "1 to 86400"},
        {"agents: [{id: a, repl: {max_output_bytes: 1}}]\n", "max_output_bytes: \"1\"", "1024"},
        {"agents: []\nagents: []\n", "\"agents\" is given twice", "one of the two"},
        {"inbound_bindings:\n- repl: {}\n", "test.yaml:2: a binding has no plugin", "plugin: NAME"},
        {"inbound_bindings: [{plugin: w}, {plugin: w}]\n", "the binding of \"w\" is given twice",
         "one of the two"},
        {"inbound_bindings:\n- {plugin: w, agent: default}\n- {plugin: w, agent: default}\n",
         "test.yaml:3: the binding of \"w\" for default is given twice", "one of the two"},
        {"inbound_bindings:\n- plugin: w\n  agent: bob\nagents: [{id: ana}]\n",
         "test.yaml:2: inbound_bindings: there is no agent \"bob\"", "under agents"},
        {"inbound_bindings: [{plugin: w, repl: {x: 1}}]\n", "unknown field \"x\"", "enabled"},
        {"profiles: {node: {}}\n", "cannot have the name of a runtime", "another name"},
        {"- a\n- b\n", "the file has a list, but a mapping", "NAME: VALUE"},
        {"just text\n", "the file has a single value", "NAME: VALUE"},
        {"? [a]\n: 1\n", "name cannot be a list", "NAME: VALUE"},
        {"pool: 1\n---\npool: 2\n", "test.yaml:2: a second document", "---"},
        {"pool: 1\nlimits: {pids: 9\n", "not valid YAML", "bracket"},
        {"pool:\t1\n\tx: 2\n", "not valid YAML", "tabs"},
        {"oauth: {issuers: [{issuer: x, keys: /k}]}\n", "test.yaml:1: an issuer has no audience",
         "keys: [FILE]"},
        {"oauth: {issuers: [{issuer: x, audience: y}]}\n", "an issuer has no keys", "issuer"},
        {"oauth: {issuers: [{audience: y, keys: /k}]}\n", "an issuer has no issuer", "issuer"},
        {"oauth: {issuers: [{issuer: x, audience: y, keys: k}]}\n", "not an absolute path", "PEM"},
        {"oauth: {issuers: [{issuer: x, audience: y, keys: /k, scopes: [a b]}]}\n", "not one scope",
         "words"},
        {"oauth: {issuers: [{issuer: x, audience: y, keys: /k, algorithms: [none]}]}\n",
         "\"none\" is not possible here", "EdDSA, RS256"},
        {"oauth: {issuers: [{issuer: x, audience: y, keys: /k, algorithms: []}]}\n",
         "algorithms is empty", "both"},
        {"oauth: {issuers: [{issuer: x, audience: y, keys: /k, agent: eve}]}\n",
         "there is no agent \"eve\"", "agents"},
        {"oauth: {issuers: [{issuer: x, audience: y, keys: /k}, {issuer: x, audience: y, keys: "
         "/k}]}\n",
         "given twice", "several keys"},
        {"oauth: {resource: \"https://a/b\"}\n", "not a server's URL", "without a path"},
        {"oauth: {resource: cella}\n", "not a server's URL", "https://"},
        {"oauth: {leeway_secs: 4000}\n", "from 0 to 3600", "3600"},
        {"\"pool\\0\": 1\n", "unknown field", "pool"},
        {"x: &a [*a]\n", "unknown field \"x\"", "pool"},
        {"profiles: &a {b: *a}\n", "aliases", "Write the value out"},
        {"*x : 1\n", "", ""},
        {"pool: \xff\n", "not valid YAML", "line"},
        {"\xff\xfep\0o\0", "not valid YAML", "line"},
        {"pool: 1\n\x01", "not valid YAML", "line"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct config c;
        struct err e = {0};
        if (config_parse(cases[i].text, strlen(cases[i].text), "test.yaml", &c, &e) == 0)
            fail_msg("accepted: %s", cases[i].text);
        assert_int_equal(e.code, ERR_INVALID);
        if (strncmp(e.message, "test.yaml:", 10) != 0 || !strstr(e.message, cases[i].message) ||
            !strstr(e.advice, cases[i].advice) || e.advice[0] == '\0')
            fail_msg("%s gave: %s (%s)", cases[i].text, e.message, e.advice);
    }
}

static void append(struct buf *b, size_t times, const char *text)
{
    for (size_t i = 0; i < times; i++)
        assert_true(buf_append_str(b, text));
}

static int parse_buf(const struct buf *b)
{
    struct config c;
    struct err e = {0};
    int r = config_parse(b->data, b->len, "test.yaml", &c, &e);
    if (r == 0)
        config_free(&c);
    return r;
}

static void sizes_are_limited(void **state)
{
    (void)state;
    _buf_ struct buf b = BUF_INIT(4 * MIB);
    append(&b, 1, "profiles: {x: {preload: [");
    append(&b, CONFIG_PRELOAD_MAX, "a,");
    append(&b, 1, "]}}");
    assert_int_equal(parse_buf(&b), 0);
    buf_clear(&b);
    append(&b, 1, "profiles: {x: {preload: [");
    append(&b, CONFIG_PRELOAD_MAX + 1, "a,");
    append(&b, 1, "]}}");
    assert_int_equal(parse_buf(&b), -1);
    buf_clear(&b);
    append(&b, 1, "profiles: {x: {preload: [");
    for (int i = 0; i < 70; i++) {
        append(&b, 500, "a");
        append(&b, 1, ",");
    }
    append(&b, 1, "]}}");
    assert_int_equal(parse_buf(&b), -1);
    buf_clear(&b);
    append(&b, 1, "profiles: {");
    for (int i = 0; i < CONFIG_PROFILES_MAX - 2; i++)
        buf_printf(&b, "p%d: {},", i);
    append(&b, 1, "min: {}");
    size_t full = b.len;
    append(&b, 1, "}");
    assert_int_equal(parse_buf(&b), 0);
    b.len = full;
    append(&b, 1, ", one_more: {}}");
    assert_int_equal(parse_buf(&b), -1);
}

static void numbers_of_agents_and_bindings_are_limited(void **state)
{
    (void)state;
    _buf_ struct buf b = BUF_INIT(4 * MIB);
    for (int extra = 0; extra < 2; extra++) {
        buf_clear(&b);
        append(&b, 1, "agents:\n");
        for (int i = 0; i < CONFIG_AGENTS_MAX + extra; i++)
            buf_printf(&b, "- id: a%d\n", i);
        assert_int_equal(parse_buf(&b), -extra);
        buf_clear(&b);
        append(&b, 1, "inbound_bindings:\n");
        for (int i = 0; i < CONFIG_BINDINGS_MAX + extra; i++)
            buf_printf(&b, "- plugin: a%d\n", i);
        assert_int_equal(parse_buf(&b), -extra);
        buf_clear(&b);
        append(&b, 1, "agents: [{id: ");
        append(&b, CONFIG_AGENT_BYTES + (size_t)extra, "a");
        append(&b, 1, "}]");
        assert_int_equal(parse_buf(&b), -extra);
    }
}

/* Depth and references cost no more than the bytes they are written with. */
static void bombs_are_harmless(void **state)
{
    (void)state;
    _buf_ struct buf b = BUF_INIT(4 * MIB);
    append(&b, 500000, "[");
    assert_int_equal(parse_buf(&b), -1);
    buf_clear(&b);
    append(&b, 100000, "{a: ");
    assert_int_equal(parse_buf(&b), -1);
    buf_clear(&b);
    append(&b, 1, "profiles: {x: {preload: ");
    append(&b, 500000, "[");
    assert_int_equal(parse_buf(&b), -1);
    buf_clear(&b);
    append(&b, 300000, "- ");
    assert_int_equal(parse_buf(&b), -1);
    buf_clear(&b);
    append(&b, 1, "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n");
    assert_int_equal(parse_buf(&b), -1);
}

/* Files. */

static char folder[] = "/tmp/cella-unit-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/cella", folder);
    if (mkdir(path, 0700) < 0)
        return -1;
    snprintf(path, sizeof(path), "%s/cella/cella.yaml", folder);
    return setenv("XDG_CONFIG_HOME", folder, 1);
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    *strrchr(path, '/') = '\0';
    return rmdir(path) < 0 ? -1 : rmdir(folder);
}

static void write_file(const char *text)
{
    assert_int_equal(fd_create_file(AT_FDCWD, path, text, strlen(text), 0600), 0);
}

static void the_users_own_file_is_found(void **state)
{
    (void)state;
    struct config c;
    struct err e = {0};
    write_file("pool: 9\n");
    assert_int_equal(config_load(NULL, &c, &e), 0);
    assert_int_equal(c.pool, 9);
    assert_string_equal(c.file, path);
    config_free(&c);
}

static void a_named_file_is_read_or_missed(void **state)
{
    (void)state;
    struct config c;
    struct err e = {0};
    write_file("pool: 7\n");
    assert_int_equal(config_load(path, &c, &e), 0);
    assert_int_equal(c.pool, 7);
    config_free(&c);
    assert_int_equal(config_load("/absent/cella.yaml", &c, &e), -1);
    assert_non_null(strstr(e.message, "/absent/cella.yaml"));
    assert_true(e.advice[0] != '\0');
    assert_int_equal(config_load(folder, &c, &e), -1);
}

static void huge_files_are_refused(void **state)
{
    (void)state;
    struct config c;
    struct err e = {0};
    assert_int_equal(config_load("/dev/zero", &c, &e), -1);
    assert_non_null(strstr(e.message, "larger than"));
}

static void mistakes_in_files_name_the_file(void **state)
{
    (void)state;
    struct config c;
    struct err e = {0};
    write_file("pool: 7\nx: 1\n");
    assert_int_equal(config_load(NULL, &c, &e), -1);
    assert_ptr_equal(strstr(e.message, path), e.message);
    assert_non_null(strstr(e.message, ":2: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_means_the_defaults),
        cmocka_unit_test(the_built_in_profiles),
        cmocka_unit_test(every_field_is_read),
        cmocka_unit_test(the_example_file_holds_the_defaults),
        cmocka_unit_test(agents_and_bindings),
        cmocka_unit_test(issuers_of_tokens),
        cmocka_unit_test(the_default_agent_has_all_unless_it_is_configured),
        cmocka_unit_test(limits_not_given_keep_their_defaults),
        cmocka_unit_test(mistakes_name_line_and_remedy),
        cmocka_unit_test(sizes_are_limited),
        cmocka_unit_test(numbers_of_agents_and_bindings_are_limited),
        cmocka_unit_test(bombs_are_harmless),
        cmocka_unit_test(the_users_own_file_is_found),
        cmocka_unit_test(a_named_file_is_read_or_missed),
        cmocka_unit_test(huge_files_are_refused),
        cmocka_unit_test(mistakes_in_files_name_the_file),
    };
    return cmocka_run_group_tests_name("policy_config", tests, make_folder, remove_folder);
}
