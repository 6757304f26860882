"""The Model Context Protocol of 2026-07-28 at /mcp: each request stands for itself. What a client
can do is said in its `_meta`, what it wants is repeated in headers, and what needs more than one
answer is a stream, a question, or a task."""

import json

import pytest

from harness import host, mcp

pytestmark = pytest.mark.one_mode


@pytest.fixture
def client(daemon):
    return mcp.Modern(daemon)


@pytest.fixture
def name(daemon):
    """The name of a session that ends with the test."""
    yield "mcp-modern"
    for session in daemon.client.call("GET", "/v1/sessions").sessions:
        if session.get("name", "").startswith("mcp-modern"):
            daemon.client.request("DELETE", f"/v1/sessions/{session['session_id']}")


@pytest.mark.smoke
def test_a_server_tells_what_it_offers(client):
    offer = client.request("server/discover")
    assert offer["resultType"] == "complete"
    assert offer["supportedVersions"][:2] == [mcp.MODERN, mcp.LEGACY]
    assert set(offer["capabilities"]) == {"tools", "resources", "prompts", "completions",
                                          "logging", "extensions"}
    assert offer["_meta"][mcp.META + "serverInfo"]["name"] == "cella"
    assert offer["ttlMs"] > 0 and offer["cacheScope"] == "private"


@pytest.mark.smoke
def test_code_runs_in_a_session_that_stays(client, name):
    first = client.call("run", {"code": "x = 20", "session": name})
    assert mcp.text_of(first) == f"[new session {name}]"
    assert mcp.text_of(client.call("run", {"code": "x + 1", "session": name})) == "21"


def test_code_that_fails_is_an_answer(client, name):
    result = client.call("run", {"code": "1/0", "session": name})
    assert result["isError"] and "ZeroDivisionError" in mcp.text_of(result)


def test_wrong_arguments_are_told_to_the_model(client):
    result = client.call("run", {"kode": "1"})
    assert result["isError"] and "kode" in mcp.text_of(result)


def test_sets_of_tools_are_chosen_in_the_path(daemon):
    tools = {sets: [tool["name"] for tool in mcp.Modern(daemon, path=f"/mcp?tools={sets}")
                    .request("tools/list")["tools"]] for sets in ("core", "repl", "repl,core")}
    assert tools["core"] == ["run", "wait", "back", "look", "file"]
    assert len(tools["repl"]) == 1
    assert sorted(tools["repl,core"]) == sorted(tools["core"] + tools["repl"])
    with pytest.raises(mcp.Refused, match="no set of tools"):
        mcp.Modern(daemon, path="/mcp?tools=all").request("tools/list")


def test_the_configuration_says_which_tools_others_get(launch):
    daemon = launch(config="default_profile: min\nmcp_tools: repl\n")
    assert len(mcp.Modern(daemon).request("tools/list")["tools"]) == 1
    assert len(mcp.Modern(daemon, path="/mcp?tools=core").request("tools/list")["tools"]) == 5


def test_a_tool_of_another_set_is_unknown(client):
    with pytest.raises(mcp.Refused) as refusal:
        client.call("export_ipynb")
    assert refusal.value.code == -32602


def test_a_long_cell_tells_its_progress(client, name):
    message, headers = mcp.modern("tools/call", {"name": "run", "arguments": {
        "code": "import time\nfor i in range(3): print('step', i, flush=True); time.sleep(0.15)",
        "session": name}}, progressToken="p")
    answer = client.send(message, headers)
    assert answer.headers.get_content_type() == "text/event-stream"
    assert answer.headers["X-Accel-Buffering"] == "no"
    *progress, last = answer.messages
    assert {m["method"] for m in progress} == {"notifications/progress"}
    assert all(m["params"]["progressToken"] == "p" for m in progress)
    values = [m["params"]["progress"] for m in progress]
    assert values == sorted(set(values))
    assert progress[0]["params"]["message"] == "step 0"
    assert "step 0\nstep 1\nstep 2" in mcp.text_of(last["result"])


def test_a_client_that_goes_away_interrupts_its_cell(client, name):
    client.call("run", {"code": "n = 0", "session": name})
    message, headers = mcp.modern("tools/call", {"name": "run", "arguments": {
        "code": "import time\ntry:\n    print('begun', flush=True); time.sleep(600)\n"
                "except KeyboardInterrupt:\n    n = 1", "session": name}}, progressToken=1)
    connection, response = client.open(message, headers)
    next(mcp.events(response))  # it runs
    response.close()
    connection.close()
    assert mcp.text_of(client.call("run", {"code": "n", "session": name})) == "1"


def test_a_cancelled_cell_that_goes_on_is_interrupted_again(client, name):
    """Nobody is there who could do it: two interrupts may get lost on a busy machine."""
    client.call("run", {"code": "import time\nn = 0", "session": name})
    message, headers = mcp.modern("tools/call", {"name": "run", "arguments": {
        "code": "print('begun', flush=True)\nwhile n < 3:\n    try:\n        time.sleep(600)\n"
                "    except KeyboardInterrupt:\n        n += 1", "session": name}}, progressToken=1)
    connection, response = client.open(message, headers)
    next(mcp.events(response))
    response.close()
    connection.close()
    assert mcp.text_of(client.call("run", {"code": "n", "session": name})) == "3"


def test_input_is_asked_of_the_client_in_a_second_request(daemon, name):
    client = mcp.Modern(daemon, {"elicitation": {}})
    arguments = {"code": "print('hi'); who = input('Name? '); who.upper()", "session": name}
    asked = client.call("run", arguments)
    assert asked["resultType"] == "input_required"
    question = asked["inputRequests"]["line"]
    assert question["method"] == "elicitation/create"
    assert question["params"]["message"] == "Name? "
    answered = client.call("run", arguments, requestState=asked["requestState"], inputResponses={
        "line": {"action": "accept", "content": {"line": "Ada"}}})
    assert answered["resultType"] == "complete"
    assert [item["text"] for item in answered["content"]] == [
        f"hi\nName? \n[new session {name}]", "'ADA'"]


def test_what_was_shown_before_a_question_may_be_any_characters(daemon, name):
    """NUL among them, which JSON can hold and C ends texts with."""
    client = mcp.Modern(daemon, {"elicitation": {}})
    shown = "import sys; sys.stdout.buffer.write(b'a\\0b\\xff\\xed\\xa0\\x80\\n')\n"
    arguments = {"code": shown + "input('Name? ')", "session": name}
    asked = client.call("run", arguments)
    assert asked["resultType"] == "input_required"
    answered = client.call("run", arguments, requestState=asked["requestState"], inputResponses={
        "line": {"action": "accept", "content": {"line": "Ada"}}})
    first, last = [item["text"] for item in answered["content"]]
    assert first.startswith("a\0b\ufffd") and "Name? " in first and last == "'Ada'"
    legacy = mcp.Legacy(daemon)
    running = legacy.call("run", {"code": shown + "input('Name? ')", "session": name})
    assert mcp.text_of(running).startswith("a\0b") and "wait(" in mcp.text_of(running)
    legacy.call("wait", {"session": name, "interrupt": True})


def test_a_question_that_is_declined_ends_the_cell(daemon, name):
    client = mcp.Modern(daemon, {"elicitation": {}})
    arguments = {"code": "input('Name? ')", "session": name}
    asked = client.call("run", arguments)
    answered = client.call("run", arguments, requestState=asked["requestState"],
                           inputResponses={"line": {"action": "decline"}})
    assert answered["isError"] and "KeyboardInterrupt" in mcp.text_of(answered)


def test_state_is_good_for_one_request_and_once(daemon, name):
    client = mcp.Modern(daemon, {"elicitation": {}})
    arguments = {"code": "a = input('A? '); b = input('B? '); a + b", "session": name}
    state = client.call("run", arguments)["requestState"]
    answers = {"line": {"action": "accept", "content": {"line": "1"}}}

    def give(state, arguments=arguments):
        return client.call("run", arguments, requestState=state, inputResponses=answers)

    flipped = state[:-4] + ("A" if state[-4] != "A" else "B") + state[-3:]
    for forged in (state + "x", flipped, "e30=.AAAA", ""):
        with pytest.raises(mcp.Refused, match="requestState"):
            give(forged)
    with pytest.raises(mcp.Refused, match="requestState"):
        give(state, {**arguments, "code": "another"})
    second = give(state)
    assert second["inputRequests"]["line"]["params"]["message"] == "B? "
    with pytest.raises(mcp.Refused, match="used already"):
        give(state)
    assert "11" in mcp.text_of(give(second["requestState"]))


def test_without_elicitation_the_answer_says_how_to_go_on(client, name):
    waiting = client.call("run", {"code": "input('Name? ')", "session": name})
    assert "resultType" in waiting and "pending" not in waiting
    assert "wait" in mcp.text_of(waiting)
    assert "Ada" in mcp.text_of(client.call("wait", {"session": name, "input": "Ada"}))


def await_task(client, task_id, *wanted):
    def look():
        task = client.request("tasks/get", {"taskId": task_id})
        return task if task["status"] in wanted else None
    return host.eventually(look, f"a task that is {wanted}")


def test_a_long_cell_becomes_a_task(daemon, name):
    client = mcp.Modern(daemon, {**mcp.TASKS, "elicitation": {}})
    quick = client.call("run", {"code": "1+1", "session": name})
    assert quick["resultType"] == "complete"
    code = "import time; time.sleep(1.2); v = input('v? '); time.sleep(0.1); v * 2"
    task = client.call("run", {"code": code, "session": name})
    assert (task["resultType"], task["status"]) == ("task", "working")
    asking = await_task(client, task["taskId"], "input_required")
    assert asking["inputRequests"]["line"]["params"]["message"] == "v? "
    client.request("tasks/update", {"taskId": task["taskId"], "inputResponses": {
        "line": {"action": "accept", "content": {"line": "ab"}}}})
    done = await_task(client, task["taskId"], "completed")
    assert "abab" in mcp.text_of(done["result"])


def test_a_task_that_is_cancelled_interrupts_its_cell(daemon, name):
    client = mcp.Modern(daemon, mcp.TASKS)
    client.call("run", {"code": "n = 0", "session": name})
    code = "import time\ntry: time.sleep(600)\nexcept KeyboardInterrupt: n = 1"
    task = client.call("run", {"session": name, "code": code})
    assert set(client.request("tasks/cancel", {"taskId": task["taskId"]})) == {"resultType",
                                                                              "_meta"}
    assert await_task(client, task["taskId"], "cancelled")
    assert mcp.text_of(client.call("run", {"code": "n", "session": name})) == "1"


def test_tasks_are_for_clients_that_know_them(client, daemon):
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        answer = client.ask(method, {"taskId": "x"})
        assert answer.status == 400
        error = answer.messages[0]["error"]
        assert error["code"] == -32021
        assert error["data"]["requiredCapabilities"] == mcp.TASKS
        with pytest.raises(mcp.Refused) as refusal:
            mcp.Modern(daemon, mcp.TASKS).request(method, {"taskId": "x"})
        assert refusal.value.code == -32602


def test_notebooks_images_and_files_are_resources(client, name, daemon):
    client.call("run", {"code": "open('data.bin', 'wb').write(bytes(range(256)))\n"
                                "open('note.txt', 'w').write('ä')\n6*7", "session": name})
    (session,) = [s["session_id"] for s in daemon.client.call("GET", "/v1/sessions").sessions
                  if s.get("name") == name]

    def read(uri):
        (content,) = client.request("resources/read", {"uri": uri})["contents"]
        assert content["uri"] == uri
        return content

    listed = {r["uri"]: r["name"] for r in client.request("resources/list")["resources"]}
    assert listed[f"notebook://{session}"] == name
    transcript = read(f"notebook://{session}")
    assert transcript["mimeType"] == "text/markdown" and "6*7" in transcript["text"]
    assert "6*7" in read(f"notebook://{name}/cell/0")["text"]
    assert read(f"workspace://{name}/note.txt")["text"] == "ä"
    assert read(f"workspace://{name}/data.bin")["blob"].startswith("AAECAwQF")
    for uri in (f"workspace://{name}/none", f"notebook://{name}/cell/99", "notebook://none",
                f"notebook://{name}/cell/0/image/0", "other://x", "notebook://", ""):
        with pytest.raises(mcp.Refused) as refusal:
            read(uri)
        assert (refusal.value.code, refusal.value.data) == (-32602, {"uri": uri})


@pytest.mark.parametrize("path, uri", [
    ("a b.csv", "a b.csv"), ("a b.csv", "a%20b.csv"), ("ä.txt", "ä.txt"), ("ä.txt", "%C3%A4.txt"),
    ("100%.txt", "100%25.txt"), ("d/x.txt", "d%2Fx.txt"), ("a#b?c", "a#b?c"), ("a+b", "a+b"),
])
def test_uris_of_files_are_decoded(client, name, path, uri):
    """Templates expand a space to %20; people write it as it is."""
    client.call("run", {"session": name, "code": f"import os; os.makedirs('d', exist_ok=True)\n"
                        f"_ = open({path!r}, 'w').write('here')"})
    asked = {"uri": f"workspace://{name}/{uri}"}
    assert client.request("resources/read", asked)["contents"][0]["text"] == "here"
    connection, messages = client.listen(resourceSubscriptions=[asked["uri"]])
    assert next(messages)["method"] == "notifications/subscriptions/acknowledged"
    assert next(messages)["params"]["uri"] == asked["uri"]  # it is watched now
    client.call("run", {"session": name, "code": f"_ = open({path!r}, 'w').write('there')"})
    assert next(messages)["params"]["uri"] == asked["uri"]
    connection.close()


@pytest.mark.parametrize("rest", ["a%00b", "a%", "a%4", "a%zz", "%FF", "%ED%A0%80", "100%.txt"])
def test_uris_that_are_encoded_badly(client, name, rest):
    client.call("run", {"session": name, "code": "open('a', 'w')"})
    uri = f"workspace://{name}/{rest}"
    for method, params in (("resources/read", {"uri": uri}), ("subscriptions/listen", {
            "notifications": {"resourceSubscriptions": [uri]}})):
        with pytest.raises(mcp.Refused, match="percent-encoded") as refusal:
            client.request(method, params)
        assert (refusal.value.code, refusal.value.data) == (-32602, {"uri": uri})


@pytest.mark.parametrize("rest", ["../etc/passwd", "%2E%2E%2Fx", "%2e%2e/%2e%2e/etc/passwd"])
def test_uris_that_lead_out_of_the_workspace(client, name, rest):
    client.call("run", {"session": name, "code": "1"})
    with pytest.raises(mcp.Refused):
        client.request("resources/read", {"uri": f"workspace://{name}/{rest}"})


def test_notebooks_are_listed_page_by_page(launch):
    daemon = launch()
    made = {daemon.client.call("POST", "/v1/sessions", {}).session_id for _ in range(3)}
    for session in made:
        daemon.client.call("POST", f"/v1/sessions/{session}/exec", {"code": "1"})
        daemon.client.call("POST", f"/v1/sessions/{session}/suspend", {})
    client = mcp.Modern(daemon)
    page = client.request("resources/list")
    assert {r["uri"] for r in page["resources"]} == {f"notebook://{s}" for s in made}
    assert "nextCursor" not in page
    first, *rest = sorted(made)
    after = client.request("resources/list", {"cursor": first})["resources"]
    assert [r["uri"] for r in after] == [f"notebook://{s}" for s in rest]
    for cursor in ("1", "", 7, first.upper()):
        with pytest.raises(mcp.Refused, match="nextCursor"):
            client.request("resources/list", {"cursor": cursor})


def test_a_listener_is_told_of_changes(client, name):
    client.call("run", {"code": "1", "session": name})
    uri = f"notebook://{name}"
    connection, messages = client.listen(resourceSubscriptions=[uri], toolsListChanged=True)
    acknowledged = next(messages)
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert acknowledged["params"]["notifications"] == {"resourceSubscriptions": [uri]}
    client.call("run", {"code": "2", "session": name})
    changed = next(messages)
    assert changed["method"] == "notifications/resources/updated"
    assert changed["params"]["uri"] == uri
    assert changed["params"]["_meta"] == {mcp.META + "subscriptionId": 1}
    connection.close()


def test_a_listener_is_told_of_changes_of_its_file_alone(client, name):
    client.call("run", {"session": name, "code": "import os; os.mkdir('d')\n"
                        "def put(path): open(path, 'w').write('x')"})
    uri, other = f"workspace://{name}/d/a.txt", f"workspace://{name}/b.txt"
    connection, messages = client.listen(resourceSubscriptions=[uri, other])
    assert next(messages)["method"] == "notifications/subscriptions/acknowledged"

    assert {next(messages)["params"]["uri"] for _ in range(2)} == {uri, other}  # it is watched now

    def told_after(code):
        client.call("run", {"code": code, "session": name})
        return next(messages)["params"]["uri"]

    assert told_after("put('d/a.txt')") == uri
    client.call("run", {"code": "put('d/other'); put('other')", "session": name})  # nobody's
    assert told_after("put('d/b.txt'); put('b.txt')") == other
    assert told_after("os.remove('d/a.txt')") == uri
    connection.close()


def test_a_file_whose_folder_is_not_there_yet_is_told_of_with_the_notebook(client, name):
    client.call("run", {"code": "1", "session": name})
    uri = f"workspace://{name}/later/a.txt"
    connection, messages = client.listen(resourceSubscriptions=[uri])
    next(messages)
    assert next(messages)["params"]["uri"] == uri  # from now on
    client.call("run", {"code": "import os; os.mkdir('later')", "session": name})
    assert next(messages)["params"]["uri"] == uri
    connection.close()


@pytest.mark.parametrize("uri", ["other://x", "notebook://", "workspace:///a", "x"])
def test_what_is_no_resource_is_not_watched(client, uri):
    with pytest.raises(mcp.Refused, match="no such") as refusal:
        client.request("subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri]}})
    assert refusal.value.data == {"uri": uri}


@pytest.mark.parametrize("uri", ["notebook://later", "workspace://later/a.txt"])
def test_a_session_that_is_not_there_yet_is_told_of_when_it_is(launch, uri):
    client = mcp.Modern(launch(env={"CELLA_TEST_TIME_SCALE": "0.1"}))
    connection, messages = client.listen(resourceSubscriptions=[uri])
    next(messages)
    assert next(messages)["params"]["uri"] == uri  # whoever reads it sees that there is nothing
    client.call("run", {"code": "1", "session": "later"})
    assert next(messages)["params"]["uri"] == uri
    connection.close()


def test_a_session_that_comes_again_is_told_of(launch):
    client = mcp.Modern(daemon := launch(env={"CELLA_TEST_TIME_SCALE": "0.1"}))
    client.call("run", {"code": "1", "session": "again"})
    uri = "notebook://again"
    connection, messages = client.listen(resourceSubscriptions=[uri])
    next(messages)

    def told():
        message = next(messages)
        return message["method"], message["params"]["uri"]

    daemon.client.call("DELETE", "/v1/sessions/again")
    assert told() == ("notifications/resources/updated", uri)  # it is gone
    client.call("run", {"code": "1", "session": "again"})
    assert told() == ("notifications/resources/updated", uri)  # it is found
    connection.close()


def test_prompts_teach_how_to_work(client):
    prompts = {p["name"]: p for p in client.request("prompts/list")["prompts"]}
    assert set(prompts) == {"explore_data", "recover_cell", "compare_branches"}
    got = client.request("prompts/get", {"name": "explore_data", "arguments": {"source": "a.csv"}})
    assert "Explore a.csv in one live session." in got["messages"][0]["content"]["text"]
    with pytest.raises(mcp.Refused, match="source"):
        client.request("prompts/get", {"name": "explore_data"})


def test_names_of_sessions_are_completed(client, name):
    client.call("run", {"code": "1", "session": name})
    completed = client.request("completion/complete", {
        "ref": {"type": "ref/resource", "uri": "notebook://{session}"},
        "argument": {"name": "session", "value": "mcp-mod"}})["completion"]
    assert completed == {"values": [name], "total": 1, "hasMore": False}


def test_cells_and_files_of_a_session_are_completed(client, name):
    client.call("run", {"session": name, "code": "import os; os.makedirs('data/more')\n"
                        "for path in ('data/a b.csv', 'data/c.csv', 'dear.txt'):\n"
                        "    open(path, 'w').close()"})
    client.call("run", {"session": name, "code": "1"})

    def completed(argument, value, uri, **context):
        return client.request("completion/complete", {
            "ref": {"type": "ref/resource", "uri": uri}, "context": {"arguments": context},
            "argument": {"name": argument, "value": value}})["completion"]["values"]

    cells, files = "notebook://{session}/cell/{cell}", "workspace://{session}/{+path}"
    assert completed("cell", "", cells, session=name) == ["0", "1"]
    assert completed("cell", "1", cells, session=name) == ["1"]
    assert completed("path", "d", files, session=name) == ["data/", "dear.txt"]
    assert completed("path", "data/", files, session=name) == [
        "data/a b.csv", "data/c.csv", "data/more/"]
    assert completed("path", "data/a", files, session=name) == ["data/a b.csv"]
    for path in ("../", "/etc/", "none/", "data/a b.csv/"):
        assert completed("path", path, files, session=name) == []
    assert completed("path", "d", files, session="nobody") == completed("cell", "", cells) == []


def test_messages_come_only_if_a_level_is_asked_for(client, name):
    def kinds(**meta):
        message, headers = mcp.modern("tools/call", {"name": "run", "arguments": {
            "code": "1", "session": name}}, **meta)
        return [m.get("method") for m in client.send(message, headers).messages]

    assert kinds() == [None]
    assert kinds(**{mcp.META + "logLevel": "info"}) == ["notifications/message", None]
    assert kinds(**{mcp.META + "logLevel": "error"}) == [None]


def test_plan_mode_is_a_refusal_that_agents_know(client, name, daemon):
    client.call("run", {"code": "x = 1", "session": name})
    daemon.client.call("PUT", f"/v1/sessions/{name}/plan", {"reason": "think"})
    result = client.call("run", {"code": "x = 2", "session": name})
    refusal = json.loads(mcp.text_of(result))
    assert result["isError"]
    assert set(refusal) == {"tool_name", "tool_kind", "hint", "entered_at", "entered_reason"}
    assert refusal["tool_name"] == "run" and refusal["entered_reason"] == "think"
    assert "x" in mcp.text_of(client.call("look", {"session": name}))


def test_tasks_outlive_the_daemon(launch):
    """A client hears of a task once it is on disk. A cell does not outlive the daemon: its task
    has failed, and says so."""
    daemon = launch(config="default_profile: min\n")
    client = mcp.Modern(daemon, mcp.TASKS)
    done = client.call("run", {"code": "import time; time.sleep(1.2); 'slept'", "session": "a"})
    await_task(client, done["taskId"], "completed")
    stopped = client.call("run", {"code": "time.sleep(600)", "session": "a"})
    cut = client.call("run", {"code": "import time; time.sleep(600)", "session": "b"})
    client.request("tasks/cancel", {"taskId": stopped["taskId"]})  # is on disk when it is answered
    daemon.kill()
    daemon = launch(config="default_profile: min\n", data=daemon.data)
    client = mcp.Modern(daemon, mcp.TASKS)

    def get(task):
        return client.request("tasks/get", {"taskId": task["taskId"]})

    kept = get(done)
    assert kept["status"] == "completed" and "'slept'" in mcp.text_of(kept["result"])
    assert kept["createdAt"] == done["createdAt"]
    assert get(stopped)["status"] == "cancelled"
    assert get(cut)["status"] == "failed" and "run it again" in get(cut)["error"]["message"]
    result = mcp.Modern(daemon).call("run", {"code": "1 + 1", "session": "a"})
    assert mcp.text_of(result).startswith("2")


def test_a_silent_stream_is_kept_by_comments(launch):
    """For proxies that close what is silent; a quarter of a minute lasts 15 ms here."""
    client = mcp.Modern(launch(env={"CELLA_TEST_TIME_SCALE": "0.001"}))
    message, headers = mcp.modern("subscriptions/listen", {"notifications": {}})
    connection, response = client.open(message, headers)
    assert response.headers["X-Accel-Buffering"] == "no"
    lines = [response.readline() for _ in range(12)]
    assert lines[0].startswith(b"data: ") and lines.count(b":\n") >= 3
    connection.close()


def test_tasks_expire(launch):
    """Also those that an earlier daemon left; an hour lasts a second here."""
    scale = {"CELLA_TEST_TIME_SCALE": str(1 / 3600)}
    daemon = launch(config="default_profile: min\n", env=scale)
    client = mcp.Modern(daemon, mcp.TASKS)
    task = client.call("run", {"code": "import time; time.sleep(1.2)", "session": "a"})

    def is_gone():
        try:
            return client.request("tasks/get", {"taskId": task["taskId"]}) and False
        except mcp.Refused as refusal:
            return "no such task" in str(refusal)

    host.eventually(is_gone, "a task that has expired")
    daemon.stop()
    client = mcp.Modern(launch(config="default_profile: min\n", data=daemon.data), mcp.TASKS)
    assert is_gone()
