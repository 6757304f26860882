"""Live notebooks in and out: Jupyter's files, pages, Markdown, scripts and cells.json."""

import base64
import concurrent.futures
import copy
import json

import nbformat
import pytest

from harness import host, jupyter
from harness.client import ApiError, Result, read_reply
from harness.notebooks import Notebook, text_of, value_of

v4 = nbformat.v4

pytestmark = pytest.mark.one_mode

# One pixel.
PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5E"
       "rkJggg==")


@pytest.fixture
def load(client):
    """Imports notebooks that go with the test."""
    made = []

    def load_one(content, **members):
        answer = client.call("POST", "/v1/notebooks/import", {"content": content, **members})
        made.append(answer.notebook_id)
        notebook = Notebook(client, answer.notebook_id)
        notebook.answer = answer
        return notebook

    yield load_one
    for name in made:
        client.request("DELETE", f"/v1/sessions/{name}")
        client.request("DELETE", f"/v1/notebooks/{name}")


def ipynb(notebook):
    """The export, which Jupyter's own library must find valid."""
    reply = notebook.export("ipynb")
    made = json.loads(reply.body)
    nbformat.validate(made)
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
    return nbformat.reads(reply.body.decode(), as_version=4)  # texts whole


def sample():
    made = v4.new_notebook(metadata={
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"}, "own": {"kept": [1, 2]}})
    made.cells = [
        v4.new_markdown_cell("# Title\n\ntext", id="intro"),
        v4.new_code_cell("print('hi')\n1 + 1", id="sum", execution_count=3, outputs=[
            v4.new_output("stream", name="stdout", text="hi\n"),
            v4.new_output("stream", name="stderr", text="oh\n"),
            v4.new_output("execute_result", {"text/plain": "2"}, execution_count=3)],
            metadata={"tags": ["keep"], "own": 1}),
        v4.new_code_cell("show()", id="shows", execution_count=4, outputs=[
            v4.new_output("display_data", {"image/png": PNG, "text/plain": "<Figure>"},
                          metadata={"image/png": {"width": 1, "height": 1}}),
            v4.new_output("display_data", {"text/html": "<b>bold</b>", "text/plain": "bold"}),
            v4.new_output("display_data", {"application/json": {"a": [1, None]}}),
            v4.new_output("display_data", {"text/latex": "$x^2$", "text/plain": "x2"}),
            v4.new_output("display_data", {"application/x-strange": "as it is"}),
            v4.new_output("error", ename="ValueError", evalue="no",
                          traceback=["Traceback", "ValueError: no"])]),
        v4.new_raw_cell("as it is", id="raw-1"),
    ]
    nbformat.validate(made)
    return made


def normal(notebook):
    """As nbformat compares it: texts whole; without what Cella adds of its own."""
    made = json.loads(nbformat.writes(nbformat.from_dict(copy.deepcopy(notebook))))
    made = v4.rwbase.rejoin_lines(nbformat.from_dict(made))
    made = json.loads(json.dumps(made))
    made["metadata"].pop("mcp_repl", None)
    for cell in made["cells"]:
        cell["metadata"].pop("mcp_repl", None)
        for output in cell.get("outputs", []):
            for mime, data in output.get("data", {}).items():
                if mime == "image/png":
                    output["data"][mime] = data.replace("\n", "")
    return made


# In.


@pytest.mark.smoke
@pytest.mark.each_mode
def test_a_notebook_of_jupyters(load):
    notebook = load(json.dumps(sample()), title="Mine")
    assert (notebook.answer.title, notebook.answer.cell_count) == ("Mine", 4)
    assert notebook.answer.runtime == "python" and "state" not in notebook.answer
    assert notebook.answer.renamed_ids == 0
    cells = notebook.cells(outputs=True)
    assert [c.cell_id for c in cells] == ["intro", "sum", "shows", "raw-1"]
    assert [c.kind for c in cells] == ["markdown", "code", "code", "raw"]
    assert text_of(cells[1]) == "hi\noh\n" and value_of(cells[1]) == "2"
    assert cells[1].execution_count == 3 and cells[1].metadata["tags"] == ["keep"]
    types = [o["type"] for o in cells[2].outputs]
    assert types[0] == "image" and types[-1] == "error" and "html" in types


@pytest.mark.smoke
def test_the_object_itself(load):
    notebook = load(json.loads(json.dumps(sample())))
    assert notebook.sources() == [c.source for c in sample().cells]


@pytest.mark.smoke
def test_images_come_in_as_references(load):
    notebook = load(json.dumps(sample()))
    image = notebook.cell("shows").outputs[0]
    assert "data" not in image and "hash" not in image
    assert image["ref"] == f"notebook://{notebook.id}/cell/shows/image/0"
    assert image["bytes"] == len(base64.b64decode(PNG))


@pytest.mark.smoke
def test_a_number_that_is_an_id_is_meant_as_one(load):
    cells = [v4.new_code_cell(source, id=name) for source, name in
             (("'first'", "1"), ("'second'", "zero"), ("'third'", "-1"))]
    notebook = load(v4.new_notebook(cells=cells))
    assert notebook.cell("1").code == "'first'" and notebook.cell("-1").code == "'third'"
    assert notebook.cell("0").code == "'first'" and notebook.cell("2").code == "'third'"


@pytest.mark.each_mode
def test_it_runs(load):
    made = v4.new_notebook()
    made.cells = [v4.new_code_cell("x = 40"), v4.new_markdown_cell("and"),
                  v4.new_code_cell("x + 2")]
    notebook = load(json.dumps(made), profile="min")
    assert notebook.run_range().ran == 2
    assert value_of(notebook.cell(2)) == "42"
    assert notebook.info().state == "idle"
    cells = ipynb(notebook).cells
    assert cells[2].outputs[0].data["text/plain"] == "42"


@pytest.mark.parametrize("runtime, language, code, said", [
    ("bash", "bash", "echo $((6 * 7))", "42\n"), ("node", "javascript", "console.log(42)", "42\n")])
def test_other_languages(load, runtime, language, code, said):
    made = v4.new_notebook(metadata={"language_info": {"name": language}})
    made.cells = [v4.new_code_cell(code)]
    notebook = load(json.dumps(made))
    assert notebook.answer.runtime == runtime
    assert notebook.run(0)["stdout"] == said


def test_a_language_that_cella_does_not_have(load):
    made = v4.new_notebook(metadata={"language_info": {"name": "R"}})
    made.cells = [v4.new_code_cell("summary(x)")]
    notebook = load(json.dumps(made))
    assert notebook.sources() == ["summary(x)"]
    with pytest.raises(ApiError) as caught:
        notebook.run(0)
    assert caught.value.status == 409 and "R" in caught.value.message
    assert ipynb(notebook).metadata.language_info.name == "R"


@pytest.mark.parametrize("content, word", [
    ("", "content"), ("{", "line 1"), ("[]", ""), ("{}", ""), ("not json", ""),
    ('{"nbformat": 3, "worksheets": []}', "3"), ({"nbformat": 4}, "cells"), (5, "content"),
    ('{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": 5}]}', "cell"),
])
def test_what_is_no_notebook(client, content, word):
    before = client.call("GET", "/v1/notebooks?limit=1").count
    reply = client.request("POST", "/v1/notebooks/import", {"content": content})
    assert reply.status == 400, reply
    assert word in reply.json["error"]["message"] and reply.json["error"]["advice"]
    assert client.call("GET", "/v1/notebooks?limit=1").count == before


def test_profiles_and_agents_are_checked(client):
    content = json.dumps(sample())
    for members, status in (({"profile": "nobody"}, 400), ({"agent": "nobody"}, 403),
                            ({"format": "html"}, 400), ({"runtime": "cobol"}, 400)):
        body = {"content": content, **members}
        assert client.request("POST", "/v1/notebooks/import", body).status == status, members


def test_missing_ids_are_made(load):
    made = json.loads(json.dumps(sample()))
    made["cells"][0].pop("id")
    made["cells"][1]["id"] = made["cells"][2]["id"]
    notebook = load(made)
    assert notebook.answer.renamed_ids == 2
    assert len({c.cell_id for c in notebook.cells()}) == 4


@pytest.mark.slow
def test_a_large_notebook(load):
    made = v4.new_notebook()
    text = "x" * 1000 + "\n"
    made.cells = [v4.new_code_cell(f"# {i}", execution_count=i + 1, outputs=[
        v4.new_output("stream", name="stdout", text=text * 20)]) for i in range(500)]
    notebook = load(json.dumps(made))
    assert notebook.info().cell_count == 500
    assert notebook.cell(499).code == "# 499"
    assert len(ipynb(notebook).cells) == 500


def test_an_import_has_up_to_128_mebibytes(client):
    for n_bytes, status in ((128 << 20, 100), ((128 << 20) + 1, 413)):
        head = client.head("POST", "/v1/notebooks/import", Content_Length=n_bytes,
                           Expect="100-continue")
        with client.connect() as sock, sock.makefile("rb") as file:
            sock.sendall(head + b"\r\n")
            reply = read_reply(file)
        assert reply.status == status, reply
    assert "128 MiB" in reply.json["error"]["message"]


@pytest.mark.slow
def test_exports_wait_for_each_other(client, load):
    made = v4.new_notebook()
    made.cells = [v4.new_code_cell(f"# {i}", outputs=[
        v4.new_output("stream", name="stdout", text="x" * 10_000)]) for i in range(100)]
    notebook = load(json.dumps(made))
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        replies = list(pool.map(notebook.export, ["ipynb", "html", "markdown"] * 4))
    assert len({reply.body for reply in replies}) == 3
    assert all(b"# 99" in reply.body for reply in replies)


# There and back.


def test_a_round_trip_keeps_everything(load):
    notebook = load(json.dumps(sample()))
    made, given = normal(ipynb(notebook)), normal(sample())
    for got, wanted in zip(made["cells"], given["cells"]):
        assert got == wanted
    assert made == given


def test_a_round_trip_of_an_export(load, session):
    session.exec("print('a'); import sys; print('b', file=sys.stderr)")
    session.exec("{'k': [1, 2]}")
    session.exec("1 / 0")
    source = Notebook(session.client, session.id)
    source.add("# Text", kind="markdown", at=0)
    source.add("idle")
    first = ipynb(source)
    second = ipynb(load(json.dumps(first)))
    assert normal(first) == normal(second)


# Out.


SHOWS = """
class Html:
    def _repr_html_(self): return '<b>bold</b>'
class Png:
    def _repr_png_(self):
        import base64
        return base64.b64decode('%s')
class Svg:
    def _repr_svg_(self): return '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
class Latex:
    def _repr_latex_(self): return '$x^2$'
class Markdown:
    def _repr_markdown_(self): return '**strong**'
for thing in (Html(), Png(), Svg(), Latex(), Markdown()): display(thing)
Html()
""" % PNG


@pytest.fixture
def full(session):
    """A notebook with a bit of everything in it."""
    notebook = Notebook(session.client, session.id)
    notebook.add("# Title\n\nwords", kind="markdown")
    notebook.add("print('said')\n6 * 7", run=True)
    notebook.add(SHOWS, run=True)
    notebook.add("raise ValueError('because')", run=True)
    notebook.add("import time; time.sleep(9)", run=True, timeout_ms=100)
    notebook.add("never = 'run'")
    notebook.add("raw text", kind="raw")
    notebook.call("PATCH", "", {"title": "All of it", "metadata": {"own": {"x": 1}}})
    return notebook


@pytest.mark.each_mode
def test_ipynb(full):
    made = ipynb(full)
    assert [c.cell_type for c in made.cells] == ["markdown", *["code"] * 5, "raw"]
    assert made.cells[1].outputs[0].text == "said\n"
    assert made.cells[1].outputs[1].data["text/plain"] == "42"
    assert made.cells[1].outputs[1].execution_count == made.cells[1].execution_count
    datas = [set(o.get("data", {})) for o in made.cells[2].outputs]
    for mime in ("text/html", "image/png", "image/svg+xml", "text/latex", "text/markdown"):
        assert any(mime in data for data in datas), mime
    datas = [o.get("data", {}) for o in made.cells[2].outputs]
    (png,) = [data["image/png"] for data in datas if "image/png" in data]
    assert base64.b64decode(png) == base64.b64decode(PNG)
    error = made.cells[3].outputs[-1]
    assert (error.output_type, error.ename, error.evalue) == ("error", "ValueError", "because")
    assert made.cells[5].execution_count is None and made.cells[5].outputs == []
    assert made.metadata.mcp_repl.session_id == full.id
    assert made.metadata.own == {"x": 1}
    assert made.cells[4].metadata.mcp_repl.state == "TIMEOUT"
    assert [c.id for c in made.cells] == [c.cell_id for c in full.cells()]


def test_the_file_has_a_name_and_a_type(full):
    types = {"ipynb": "application/x-ipynb+json", "html": "text/html", "markdown": "text/markdown",
             "script": "text/plain", "cells-json": "application/json"}
    suffixes = {"ipynb": ".ipynb", "html": ".html", "markdown": ".md", "script": ".py",
                "cells-json": ".json"}
    for form, kind in types.items():
        reply = full.export(form)
        assert reply.headers["Content-Type"].startswith(kind)
        assert f"All of it{suffixes[form]}" in reply.headers["Content-Disposition"].replace(
            "%20", " ")


def test_ipynb_is_what_comes_without_a_format(full):
    reply = full.client.request("GET", f"{full.path}/export")
    assert reply.json["nbformat"] == 4


@pytest.mark.each_mode
def test_html(full):
    page = full.export("html").body.decode()
    assert page.lstrip().lower().startswith("<!doctype html>")
    for words in ("All of it", "said", "42", "because", "data:image/png;base64,", "Title"):
        assert words in page, words
    assert "<script" not in page


def test_markdown(full):
    text = full.export("markdown").body.decode()
    assert "# Title" in text and "```python\nprint('said')" in text and "42" in text


def test_script(full):
    text = full.export("script").body.decode()
    compile(text, "script", "exec")
    assert "# %%" in text and "print('said')" in text and "# # Title" in text


@pytest.mark.each_mode
def test_cells_json(full, load):
    made = Result(json.loads(full.export("cells-json").body))
    text = json.dumps(made)
    assert "print('said')" in text and "COMPLETED" in text and "TIMEOUT" in text
    failed = made["cells"][3]["outputs"][0]["content"]
    assert failed.startswith("ValueError: because\n\nTraceback (user code):\n")
    assert failed.endswith("\n\nCell code:\n   1  raise ValueError('because')\n")
    again = load(json.dumps(made))
    assert [c.code for c in again.cells()] == full.sources()
    assert text_of(again.cell(1)) == "said\n" or "said" in json.dumps(again.cell(1))


def test_hostile_text_stays_text(session):
    notebook = Notebook(session.client, session.id)
    notebook.add("print('</script><script>alert(1)</script>')", run=True)
    notebook.add("<script>alert(2)</script>", kind="markdown")
    notebook.call("PATCH", "", {"title": "<script>alert(3)</script>\r\nX: y"})
    assert "<script>alert" not in notebook.export("html").body.decode()
    reply = notebook.export("ipynb")
    assert "X" not in reply.headers
    nbformat.validate(reply.json)


def test_an_empty_notebook_is_told(session):
    reply = session.client.request("GET", f"/v1/notebooks/{session.id}/export")
    assert reply.status in (400, 404, 409), reply
    assert reply.json["error"]["message"]


def test_every_runtime(spawn_runtime):
    for runtime, code in (("bash", "echo hi"), ("node", "console.log('hi')"), ("python", "1")):
        session = spawn_runtime(runtime)
        session.exec(code)
        notebook = Notebook(session.client, session.id)
        made = ipynb(notebook)
        language = {"node": "javascript"}.get(runtime, runtime)
        assert made.metadata.language_info.name == language
        assert code in notebook.export("script").body.decode()


def test_a_running_cell_is_exported_as_far_as_it_is(session):
    session.exec("import time; print('so far', flush=True); time.sleep(30)", yield_ms=0)
    host.eventually(lambda: session.output()["text"] == "so far\n")
    made = ipynb(Notebook(session.client, session.id))
    assert made.cells[0].outputs[0].text == "so far\n"
    session.interrupt()


def test_head_of_an_export(full):
    reply = full.client.request("HEAD", f"{full.path}/export?format=html")
    assert reply.status == 200 and reply.body == b""
    assert int(reply.headers["Content-Length"]) > 1000


@pytest.mark.slow
def test_nbconvert_opens_a_live_notebook(full, tmp_path):
    (tmp_path / "full.ipynb").write_bytes(full.export("ipynb").body)
    page = jupyter.page_of(tmp_path / "full.ipynb")
    for part in ("said", "<b>bold</b>", PNG[:40], "<svg", "$x^2$", "because", "never", "words"):
        assert part in page


CHART = """
class Chart:
    def __repr__(self): return 'a chart'
    def _repr_mimebundle_(self, **options):
        return {'application/vnd.vegalite.v5+json': {'mark': 'bar'}, 'text/html': '<b>chart</b>'}
"""


def test_all_forms_of_an_output_are_kept_and_one_is_answered(session):
    session.exec(CHART)
    answer = session.exec("display(Chart())\nChart()")
    assert set(answer.value) == set(answer.outputs[0]) == {"type", "text"}
    notebook = Notebook(session.client, session.id)
    for output in notebook.cell(-1).outputs:
        assert output["mime"] == {"application/vnd.vegalite.v5+json": {"mark": "bar"}}
    for output in ipynb(notebook).cells[-1].outputs:
        assert output.data == {"application/vnd.vegalite.v5+json": {"mark": "bar"},
                               "text/html": "<b>chart</b>", "text/plain": "a chart"}
    session.exec("class F:\n    def _repr_latex_(self): return '$x$'\n    __repr__ = lambda s: 'x'")
    assert session.exec("F()").value == {"type": "latex", "text": "x", "latex": "$x$"}
    (formula,) = ipynb(notebook).cells[-1].outputs
    assert formula.data == {"text/latex": "$x$", "text/plain": "x"}
    asked = session.exec("Chart()", html=True)
    assert (asked.value["text"], asked.value["html"]) == ("a chart", "<b>chart</b>")
