"""`cella convert`: notebooks in and out, checked by Jupyter's own tools where these know better."""

import base64
import copy
import html.parser
import json
import os
import random
import re
import stat
import struct
import subprocess
import sys
import zlib

import nbformat
import pytest

from harness import jupyter

v4 = nbformat.v4

pytestmark = pytest.mark.brief

NASTY = "</script><script>alert(1)</script> & \"quotes\" 'single' <b>ünïcødé 🎉</b>"


def png(width=3, height=2):
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))
    rows = b"".join(b"\0" + b"\x40\x80\xc0" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


PNG = base64.b64encode(png()).decode()
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script><circle r="4"/></svg>'
TABLE = ('<div><table border="1" class="dataframe"><tr><th>a</th></tr>'
         "<tr><td>1</td></tr></table></div>")


def rich_notebook():
    """One of everything."""
    cells = [
        v4.new_markdown_cell("# Title\n\nText with *emphasis*, $a_b + c_d$ and `code`.\n\n"
                             "| a | b |\n|---|---|\n| 1 | 2 |\n"),
        v4.new_code_cell("a = 1\nb = 2\nprint(a + b)\n\na * b", execution_count=1, outputs=[
            v4.new_output("stream", name="stdout", text="3\n"),
            v4.new_output("stream", name="stderr", text="warned\nagain"),
            v4.new_output("execute_result", {"text/plain": "2"}, execution_count=1)]),
        v4.new_code_cell("df", execution_count=2, outputs=[
            v4.new_output("execute_result", {"text/html": TABLE, "text/plain": "   a\n0  1"},
                          execution_count=2)]),
        v4.new_code_cell("plt.show()", execution_count=3, outputs=[
            v4.new_output("display_data", {"image/png": PNG, "text/plain": "<Figure>"},
                          metadata={"image/png": {"width": 30, "height": 20, "dpi": 72},
                                    "needs_background": "light"})]),
        v4.new_code_cell("1/0", execution_count=4, metadata={"tags": ["raises"]}, outputs=[
            v4.new_output("error", ename="ZeroDivisionError", evalue="division by zero",
                          traceback=["\x1b[0;31m-----\x1b[0m", "Traceback (most recent call last)",
                                     "", "ZeroDivisionError: division by zero"])]),
        v4.new_code_cell("everything", execution_count=9, outputs=[
            v4.new_output("display_data", {"text/html": f"<p onclick='x()'>{NASTY}</p>"}),
            v4.new_output("display_data", {"image/svg+xml": SVG}),
            v4.new_output("display_data", {"text/markdown": "**bold** " + NASTY,
                                           "text/plain": "bold"}),
            v4.new_output("display_data", {"text/latex": "$x^2$", "text/plain": "x**2"}),
            v4.new_output("display_data", {"application/json": {"a": [1, 2.5, None, {"b": "c"}]}}),
            v4.new_output("display_data", {"application/vnd.plotly.v1+json": {"data": [{"x": [1]}]},
                                           "text/plain": "Figure()"}),
            v4.new_output("display_data", {"application/x-unknown": "some text"},
                          metadata={"isolated": True}),
            v4.new_output("display_data", {}),
            v4.new_output("display_data", {"image/jpeg": "/9j/4AAQ", "image/png": PNG})]),
        v4.new_code_cell("nul", execution_count=10, outputs=[
            v4.new_output("stream", name="stdout", text="a\0b\x07c\r\nold\rnew\n")]),
        v4.new_markdown_cell(
            "![a picture](attachment:picture.png) [bad](javascript:alert(1)) "
            "[good](https://example.org/?a=1&b=2) <img src=x onerror=alert(1)>\n\n" + NASTY,
            attachments={"picture.png": {"image/png": PNG}}),
        v4.new_raw_cell("\\raw{latex}", metadata={"format": "text/latex"}),
        v4.new_code_cell("", metadata={"collapsed": True, "custom": {"deep": [1, 2]}}),
    ]
    notebook = v4.new_notebook(cells=cells, metadata={
        "title": "A <title>", "authors": [{"name": "Ana"}], "papermill": {"duration": 0.1},
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python", "version": "3.11.2"}})
    nbformat.validate(notebook)
    return notebook


def cells_json():
    when = "2026-01-02T03:04:05.000006"
    return {
        "user_id": "ana", "session_id": "s1", "execution_count": 3,
        "created_at": when, "updated_at": when,
        "cells": [
            {"id": "c-1", "code": "print(1)\nx = 2", "state": "COMPLETED", "execution_count": 1,
             "created_at": when, "executed_at": when, "execution_time": 0.25, "number": 0,
             "outputs": [{"output_type": "TEXT", "timestamp": when, "content_type": "text",
                          "content": "1\n"}]},
            {"id": "c-2", "code": "1/0", "state": "ERROR", "execution_count": 2,
             "created_at": when, "executed_at": when, "execution_time": 0.5, "number": 1,
             "outputs": [{"output_type": "ERROR", "timestamp": when, "content_type": "text",
                          "content": "ZeroDivisionError: division by zero\n\n"
                                     "Traceback (user code):\n  line 1\n\nCell code:\n1/0"}]},
            {"id": "c-3", "code": "plot()", "state": "COMPLETED", "execution_count": 3,
             "created_at": when, "executed_at": None, "execution_time": None, "number": 2,
             "outputs": [
                 {"output_type": "IMAGE", "timestamp": when, "content_type": "image",
                  "content": {"data": PNG, "format": "png", "width": 3, "height": 2,
                              "source": "matplotlib", "metadata": {"dpi": 100}}},
                 {"output_type": "IMAGE", "timestamp": when, "content_type": "image_reference",
                  "content": {"resource_uri": "notebook://cell/2/image/1", "format": "png",
                              "width": 3, "height": 2, "source": "matplotlib", "metadata": {}}},
                 {"output_type": "HTML", "timestamp": when, "content_type": "text",
                  "content": "<b>x</b>"},
                 {"output_type": "DATAFRAME", "timestamp": when, "content_type": "text",
                  "content": TABLE}]},
        ],
    }


class Converter:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder

    def run(self, *args, stdin=None):
        """(exit status, stdout, stderr), all bytes."""
        done = subprocess.run([self.binary, "convert", *args], input=stdin, capture_output=True,
                              timeout=60, cwd=self.folder)
        return done.returncode, done.stdout, done.stderr

    def __call__(self, document, to, *options):
        text = document if isinstance(document, bytes) else json.dumps(document).encode()
        status, out, errors = self.run("-", "--to", to, *options, stdin=text)
        assert status == 0, errors
        return out.decode()

    def notebook(self, document):
        made = json.loads(self(document, "ipynb"))
        nbformat.validate(made)
        return made

    def refusal(self, document, to="ipynb", *options):
        text = document if isinstance(document, bytes) else json.dumps(document).encode()
        status, out, errors = self.run("-", "--to", to, *options, stdin=text)
        assert (status, out) == (64, b""), (status, out[:200], errors)
        return errors.decode()


@pytest.fixture
def convert(cella, tmp_path):
    return Converter(cella, tmp_path)


def joined(notebook):
    """A notebook as nbformat compares it: texts whole, base64 without line ends."""
    notebook = json.loads(nbformat.writes(nbformat.from_dict(copy.deepcopy(notebook))))
    notebook = v4.rwbase.rejoin_lines(nbformat.from_dict(notebook))
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if output["output_type"] == "error":
                output["traceback"] = "\n".join(output["traceback"])
            for mime, value in output.get("data", {}).items():
                if mime in ("image/png", "image/jpeg"):
                    output["data"][mime] = "".join(value.split())
    return json.loads(json.dumps(notebook))


# ---- ipynb ---------------------------------------------------------------------------------------


def test_a_round_trip_keeps_everything(convert):
    before = rich_notebook()
    after = convert.notebook(before)
    assert joined(after) == joined(before)
    assert convert.notebook(after) == after


def test_the_same_input_gives_the_same_bytes(convert):
    notebook = rich_notebook()
    for cell in notebook["cells"]:
        del cell["id"]
    notebook["nbformat_minor"] = 2
    assert convert(notebook, "ipynb") == convert(notebook, "ipynb")


def test_lines_of_source_keep_their_ends(convert):
    notebook = v4.new_notebook(cells=[v4.new_code_cell("a = 1\nb = 2\n\nc"),
                                      v4.new_code_cell("ends\n"), v4.new_code_cell("")])
    sources = [cell["source"] for cell in convert.notebook(notebook)["cells"]]
    assert sources == [["a = 1\n", "b = 2\n", "\n", "c"], ["ends\n"], []]


def test_it_is_laid_out_as_jupyter_does(convert):
    text = convert(rich_notebook(), "ipynb")
    assert text.startswith('{\n "cells": [\n  {\n   "cell_type": "markdown",\n')
    assert text.endswith(' "nbformat": 4,\n "nbformat_minor": 5\n}\n')
    assert "🎉" in text


@pytest.mark.parametrize("minor", range(5))
def test_older_minor_versions_get_ids(convert, minor):
    notebook = json.loads(json.dumps(rich_notebook()))
    for cell in notebook["cells"]:
        del cell["id"]
        if minor < 1 and "attachments" in cell:
            del cell["attachments"]
    notebook["nbformat_minor"] = minor
    made = convert.notebook(notebook)
    ids = [cell["id"] for cell in made["cells"]]
    assert len(set(ids)) == len(ids) == len(notebook["cells"])


def test_ids_that_are_taken_or_malformed_are_renamed_and_others_stay(convert):
    ids = ["a", "a", "a-1", "not an id", "x" * 64, "x" * 65, "", "a"]
    notebook = json.loads(json.dumps(v4.new_notebook(cells=[v4.new_code_cell(i) for i in ids])))
    for cell, given in zip(notebook["cells"], ids):
        cell["id"] = given
    made = [cell["id"] for cell in convert.notebook(notebook)["cells"]]
    assert len(set(made)) == len(made)
    assert (made[0], made[2], made[4]) == ("a", "a-1", "x" * 64)


def test_what_jupyters_schema_refuses_is_not_passed_on(convert):
    notebook = json.loads(json.dumps(rich_notebook()))
    notebook["metadata"].update(kernelspec={"name": 1}, language_info=[], orig_nbformat=3,
                                authors="me")
    notebook["cells"][1]["metadata"] = {"collapsed": "yes", "scrolled": 1, "tags": ["a", "a"],
                                        "name": "", "jupyter": 1, "execution": 3, "kept": 1}
    notebook["cells"][1]["surplus"] = notebook["surplus"] = 1
    made = convert.notebook(notebook)
    assert made["cells"][1]["metadata"] == {"kept": 1}
    assert made["metadata"]["kernelspec"]["name"] == "python3"


@pytest.mark.parametrize("language, kernel, mark, suffix", [
    ("python", "python3", "# %%", "py"), ("javascript", "javascript", "// %%", "js"),
    ("bash", "bash", "# %%", "sh")])
def test_languages(convert, tmp_path, language, kernel, mark, suffix):
    notebook = v4.new_notebook(cells=[v4.new_code_cell("x")],
                               metadata={"language_info": {"name": language}})
    made = convert.notebook(notebook)
    assert made["metadata"]["kernelspec"]["name"] == kernel
    assert made["metadata"]["language_info"]["name"] == language
    assert convert(notebook, "script") == f"{mark}\nx\n"
    (tmp_path / "in.ipynb").write_text(json.dumps(notebook))
    assert convert.run("in.ipynb", "-o", f"out.{suffix}")[0] == 0
    wrong = "sh" if suffix == "py" else "py"
    status, _, errors = convert.run("in.ipynb", "-o", f"out.{wrong}")
    assert status == 64 and f"language is {language}".encode() in errors


def test_a_language_that_cella_does_not_run_passes_through(convert):
    metadata = {"kernelspec": {"name": "ir", "display_name": "R", "language": "R"},
                "language_info": {"name": "R", "file_extension": ".r"}}
    notebook = v4.new_notebook(cells=[v4.new_code_cell("x <- 1")], metadata=metadata)
    assert convert.notebook(notebook)["metadata"] == metadata
    assert "```R\nx <- 1\n```" in convert(notebook, "markdown")


def test_random_notebooks_come_back(convert):
    chance = random.Random(5)
    pieces = ["", "\n", "a", "x = 1\n", "é", "\t", "\r\n", "\0", "\u2028", "<&>\"'", "```",
              "# %%\n", "🎉"]

    def text():
        return "".join(chance.choice(pieces) for _ in range(chance.randrange(8)))

    def output():
        kind = chance.choice(["stream", "error", "display_data", "execute_result"])
        if kind == "stream":
            return v4.new_output(kind, name=chance.choice(["stdout", "stderr"]), text=text())
        if kind == "error":
            return v4.new_output(kind, ename=text(), evalue=text(),
                                 traceback=text().split("\n") if chance.random() < .8 else [])
        mimes = ["text/plain", "text/html", "text/markdown", "text/latex", "image/svg+xml",
                 "application/javascript", "application/x-thing"]
        data = {mime: text() for mime in chance.sample(mimes, chance.randrange(4))}
        if chance.random() < .3:
            data["application/json"] = {"k": [text(), 1, 0.1, None]}
        return v4.new_output(kind, data)

    for _ in range(40):
        cells = []
        for number in range(chance.randrange(1, 7)):
            make = chance.choice([v4.new_code_cell, v4.new_code_cell, v4.new_markdown_cell,
                                  v4.new_raw_cell])
            cell = make(text())
            if cell["cell_type"] == "code":
                cell["execution_count"] = chance.choice([None, number + 1])
                cell["outputs"] = [output() for _ in range(chance.randrange(4))]
                for each in cell["outputs"]:
                    if each["output_type"] == "execute_result":
                        each["execution_count"] = cell["execution_count"]
            cells.append(cell)
        before = v4.new_notebook(cells=cells, metadata={
            "kernelspec": {"name": "python3", "display_name": "Python 3"},
            "language_info": {"name": "python"}})
        nbformat.validate(before)
        before = json.loads(json.dumps(before))
        after = convert.notebook(before)
        # [] and [""] are the same traceback
        assert joined(after) == joined(before)
        for to in ("html", "markdown", "script", "cells-json"):
            convert(before, to)


def test_jupyter_nbconvert_opens_the_export(convert, tmp_path):
    (tmp_path / "in.ipynb").write_text(json.dumps(rich_notebook()))
    assert convert.run("in.ipynb", "-o", "out.ipynb")[0] == 0
    page = jupyter.page_of(tmp_path / "out.ipynb")
    assert "ZeroDivisionError" in page and PNG[:40] in page


# ---- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("change, words", [
    (lambda n: n.update(nbformat=3), ["format 3", "jupyter nbconvert --to notebook --nbformat 4"]),
    (lambda n: n.update(nbformat=2), ["format 2"]),
    (lambda n: n.update(nbformat=5), ["format 5"]),
    (lambda n: n.update(nbformat="4"), ["no notebook"]),
    (lambda n: n.update(cells={}), ["no list of cells"]),
    (lambda n: n.update(cells=[]), ["empty"]),
    (lambda n: n.update(metadata=[]), ["metadata"]),
    (lambda n: n["cells"].insert(2, 7), ["cell 2 (counted from 0)", "no object"]),
    (lambda n: n["cells"][1].update(source=5), ["cell 1", "source"]),
    (lambda n: n["cells"][1].update(source=["a", 5]), ["cell 1", "source"]),
    (lambda n: n["cells"][1].update(cell_type="heading"), ["cell 1", "heading"]),
    (lambda n: n["cells"][1].update(metadata=1), ["cell 1", "metadata"]),
    (lambda n: n["cells"][1].update(outputs={}), ["cell 1", "outputs"]),
    (lambda n: n["cells"][1]["outputs"][0].update(output_type="pyout"),
     ["cell 1", "output 0", "pyout"]),
    (lambda n: n["cells"][1]["outputs"][2]["data"].update({"text/plain": 5}),
     ["cell 1", "output 2", "text/plain"]),
    (lambda n: n["cells"][4]["outputs"][0].update(traceback=[1]), ["cell 4", "traceback"]),
    (lambda n: n["cells"][7].update(attachments=[1]), ["cell 7", "attachments"]),
    (lambda n: n["cells"][7].update(attachments={"a.png": 1}), ["cell 7", "a.png"]),
])
def test_what_is_no_notebook_is_refused_by_place(convert, change, words):
    notebook = json.loads(json.dumps(rich_notebook()))
    change(notebook)
    errors = convert.refusal(notebook)
    assert all(word in errors for word in words), errors


@pytest.mark.parametrize("text", [
    b"", b"{", b"[]", b"null", b"{}", b"\xff\xfe", b'{"nbformat":4,"cells":["\xff"]}', b"\0" * 100,
    b'{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":' + b"[" * 5000 + b"]" * 5000 + b"}",
    b'{"a":' * 3000 + b"1" + b"}" * 3000, b"<<<<<<< HEAD\n{}",
    b'{"nbformat":99999999999999999999999}',
    b'{"nbformat":4,"cells":[' + b"{}," * 200 + b"{}]}",
])
def test_hostile_bytes_are_refused(convert, text):
    assert convert.refusal(text).startswith("cella: -: ")


@pytest.mark.parametrize("metadata, words", [
    ('{"a": NaN}', "NaN"), ('{"a": 1, "a": 2}', "duplicate"), ('{"a": 1e999}', "too big"),
    ('{"a": ' + "[" * 509 + "]" * 509 + "}", None),
    ('{"a": ' + "[" * 520 + "]" * 520 + "}", "deep"),
])
def test_json_that_others_would_read_otherwise_is_refused(convert, metadata, words):
    cell = '{"cell_type": "raw", "id": "a", "source": "", "metadata": {}}'
    text = f'{{"nbformat": 4, "nbformat_minor": 5, "metadata": {metadata}, "cells": [{cell}]}}'
    if words is None:
        convert(text.encode(), "html")
    else:
        assert words in convert.refusal(text.encode())


def test_sizes_have_limits(convert):
    many = b'{"nbformat":4,"cells":[' + b"[]," * 2100000 + b"[]]}"
    assert "more than 4000000 values" in convert.refusal(many)
    cell = b'{"cell_type":"raw","source":"","metadata":{}}'
    many = b'{"nbformat":4,"cells":[' + (cell + b",") * 100000 + cell + b"]}"
    assert "more than 100000 cells" in convert.refusal(many)
    with open(convert.folder / "large.ipynb", "wb") as file:
        file.truncate(257 << 20)
    status, _, errors = convert.run("large.ipynb", "-o", "out.html")
    assert status == 64 and b"256 MB" in errors


def test_a_hundred_thousand_cells_of_one_id_are_converted_in_time(convert):
    cell = b'{"cell_type":"raw","id":"a","source":"","metadata":{}}'
    many = b'{"nbformat":4,"cells":[' + (cell + b",") * 99999 + cell + b"]}"
    made = json.loads(convert(many, "ipynb"))
    assert len({cell["id"] for cell in made["cells"]}) == 100000


# ---- cells.json ----------------------------------------------------------------------------------


def test_cells_json_has_the_fields_of_the_reference(convert):
    before = cells_json()
    assert json.loads(convert(before, "cells-json")) == before


def test_cells_json_becomes_a_notebook(convert):
    made = convert.notebook(cells_json())
    when = "2026-01-02T03:04:05.000006"
    assert made["metadata"]["mcp_repl"] == {
        "user_id": "ana", "session_id": "s1", "created_at": when, "updated_at": when}
    first, second, third = made["cells"]
    assert first["metadata"]["mcp_repl"] == {
        "cell_number": 0, "state": "COMPLETED", "created_at": when, "executed_at": when,
        "execution_time": 0.25}
    assert first["source"] == ["print(1)\n", "x = 2"]
    assert first["outputs"] == [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}]
    assert second["outputs"][0]["ename"] == "ZeroDivisionError"
    assert second["outputs"][0]["evalue"] == "division by zero"
    assert "Traceback (user code):" in second["outputs"][0]["traceback"]
    assert third["outputs"][0]["data"]["image/png"] == PNG
    assert third["outputs"][0]["metadata"]["image/png"] == {"width": 3, "height": 2}
    assert "notebook://cell/2/image/1" in third["outputs"][1]["data"]["text/plain"][0]
    assert third["outputs"][3]["data"]["text/html"] == [TABLE]


def test_what_cella_wrote_about_cells_comes_back(convert):
    made = convert.notebook(cells_json())
    made["cells"][0]["metadata"]["mcp_repl"]["state"] = "INTERRUPTED"
    assert convert.notebook(made) == made
    back = json.loads(convert(made, "cells-json"))
    assert [cell["state"] for cell in back["cells"]] == ["ERROR", "ERROR", "COMPLETED"]
    assert (back["user_id"], back["cells"][0]["execution_time"]) == ("ana", 0.25)


def test_other_kinds_of_cells_travel_as_comments(convert):
    notebook = v4.new_notebook(cells=[v4.new_markdown_cell("# A\n\ntext"), v4.new_raw_cell("raw"),
                                      v4.new_code_cell("x")])
    middle = convert(notebook, "cells-json")
    assert json.loads(middle)["cells"][0]["code"] == "# %% [markdown]\n# # A\n#\n# text\n"
    after = convert.notebook(middle.encode())
    assert [(c["cell_type"], "".join(c["source"])) for c in after["cells"]] == [
        ("markdown", "# A\n\ntext"), ("raw", "raw"), ("code", "x")]


def test_images_and_errors_in_cells_json(convert):
    outputs = [o for cell in json.loads(convert(rich_notebook(), "cells-json"))["cells"]
               for o in cell["outputs"]]
    kinds = {o["output_type"] for o in outputs}
    assert kinds == {"TEXT", "ERROR", "HTML", "IMAGE", "DATAFRAME"}
    error = next(o for o in outputs if o["output_type"] == "ERROR")
    assert error["content"].startswith("ZeroDivisionError: division by zero\n\nTraceback (user")
    images = [o["content"] for o in outputs if o["output_type"] == "IMAGE"]
    svg = next(image for image in images if image["format"] == "svg")
    assert base64.b64decode(svg["data"]).decode() == SVG


# ---- HTML ----------------------------------------------------------------------------------------


class Page(html.parser.HTMLParser):
    """Checks that every element is closed where it must be, and notes what could do harm."""

    VOID = {"meta", "img", "br", "hr", "input"}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.frames, self.images, self.links = [], [], [], [], []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        assert not [name for name in attrs if name.startswith("on")], attrs
        self.tags.append(tag)
        if tag == "iframe":
            assert attrs["sandbox"] == ""
            self.frames.append(attrs["srcdoc"])
        if tag == "img":
            self.images.append(attrs["src"])
        if tag == "a":
            self.links.append(attrs["href"])
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_html_is_one_page_that_runs_nothing(convert):
    text = convert(rich_notebook(), "html")
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>") and "default-src 'none'" in text
    assert "script" not in page.tags and "<script" not in text
    assert page.links == ["#", "https://example.org/?a=1&b=2"]
    assert all(image.startswith("data:image/") for image in page.images)
    assert f"data:image/png;base64,{PNG}" in page.images
    assert len(page.frames) == 2 and TABLE in page.frames[0] and NASTY in page.frames[1]
    for wanted in ("A <title>", "emphasis", "print(a + b)", "warned\nagain", "bold " + NASTY,
                   "ZeroDivisionError: division by zero", "<img src=x onerror=alert(1)>",
                   "[application/x-unknown]", "a\ufffdb\ufffdc\nnew\n", "\\raw{latex}"):
        assert wanted in page.text, wanted
    assert "\x1b" not in text and "table" in page.tags and "h1" in page.tags


def rules_of(style):
    """What a style without nesting says, by selector; later rules win."""
    found = {}
    for selectors, body in re.findall(r"([^{}]+){([^{}]*)}", style):
        for selector in selectors.split(","):
            found.setdefault(selector.strip(), {}).update(
                part.split(":", 1) for part in body.split(";") if part)
    return found


def luminance(colour):
    digits = colour.removeprefix("#")
    wide = digits if len(digits) == 6 else "".join(2 * d for d in digits)
    parts = [int(wide[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * p for weight, p in zip((0.2126, 0.7152, 0.0722), linear))


def contrast(front, behind):
    """As WCAG counts it; 4.5 is what text of a usual size needs."""
    low, high = sorted(map(luminance, (front, behind)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_html_can_be_read_in_the_light_and_in_the_dark(convert, scheme):
    style = re.search(r"<style>(.*?)</style>", convert(rich_notebook(), "html"), re.S)[1]
    usual, dark = style.removesuffix("}").split("@media(prefers-color-scheme:dark){")
    rules = rules_of(usual + (dark if scheme == "dark" else ""))
    assert rules[":root"]["color-scheme"] == "light dark"  # links, scroll bars
    page = rules["body"]
    assert (luminance(page["background"]) < 0.1) == (scheme == "dark")
    for selector in ("body", ".source", ".text pre", ".stderr", ".error", ".prompt", ".note",
                     "blockquote"):
        own = {**page, **rules[selector]}
        assert contrast(own["color"], own["background"]) >= 4.5, selector
    # Figures are drawn for paper, and may be transparent.
    assert scheme == "light" or luminance(rules[".output img"]["background"]) == 1


def test_html_shows_attachments(convert):
    notebook = v4.new_notebook(cells=[v4.new_markdown_cell(
        "![a](attachment:my%20picture&amp;.png) ![b](attachment:other.png) "
        "![c](http://x.org/c.png)",
        attachments={"my picture&.png": {"text/plain": "no", "image/png": PNG}})])
    page = Page(convert(notebook, "html"))
    assert page.images == [f"data:image/png;base64,{PNG}", "#", "http://x.org/c.png"]


@pytest.mark.parametrize("source", [
    "[x](javascript:alert(1))", "[x](JavaScript&colon;alert(1))", "[x](<java\tscript:alert(1)>)",
    "[x](vbscript:a)", "[x](data:text/html,<script>alert(1)</script>)", "<javascript:alert(1)>",
    "![x](javascript:alert(1))", "![x\" onerror=\"alert(1)](a.png)",
    "[x](a \"t\\\" onclick=\\\"a\")",
    "<script>alert(1)</script>", "<b onclick=a>x</b>", "```<script>\n</code></pre><script>\n```",
    "$</x-equation><script>$", "[x]: javascript:a\n\n[x]", "![x](attachment:\"><script>)",
    "&lt;script&gt;alert(1)&lt;/script&gt;", "| <script> |\n|---|\n| </table> |",
])
def test_markdown_brings_no_harm(convert, source):
    notebook = v4.new_notebook(cells=[v4.new_markdown_cell(source)])
    page = Page(convert(notebook, "html"))
    assert "script" not in page.tags
    for address in page.links + page.images:
        assert not address.lower().startswith(("javascript", "vbscript", "data:text")), address


# ---- Markdown and scripts ------------------------------------------------------------------------


def test_markdown(convert):
    text = convert(rich_notebook(), "markdown")
    assert text.startswith("# A <title>\n\n# Title\n\nText with *emphasis*")
    assert "```python\na = 1\nb = 2\nprint(a + b)\n\na * b\n```\n\n```text\n3\n```\n" in text
    assert "```text\n   a\n0  1\n```" in text
    assert f"![output](data:image/png;base64,{PNG})" in text
    assert '```json\n{\n  "a": [' in text


def test_fences_are_longer_than_those_inside(convert):
    notebook = v4.new_notebook(cells=[v4.new_code_cell('x = """\n````\n"""')])
    assert convert(notebook, "markdown") == '`````python\nx = """\n````\n"""\n`````\n'


def test_a_script_is_a_program(convert):
    notebook = v4.new_notebook(cells=[
        v4.new_markdown_cell("# Title\n\ntext"),
        v4.new_code_cell("%matplotlib inline\nx = 5  # really?\nfiles = !ls\nprint(x\n% 3)"),
        v4.new_code_cell('s = """\n%d\n!not a command\n"""\nif s:\n    !ls\nlen?\n'
                         'print(s %\\\n"")'),
        v4.new_code_cell("%%bash\necho 1"),
        v4.new_raw_cell("raw"),
        v4.new_code_cell("print('end')"),
    ])
    text = convert(notebook, "script")
    assert text == (
        "# %% [markdown]\n# # Title\n#\n# text\n\n"
        "# %%\n# %matplotlib inline\nx = 5  # really?\n# files = !ls\nprint(x\n% 3)\n\n"
        '# %%\ns = """\n%d\n!not a command\n"""\nif s:\n    pass  # !ls\n# len?\n'
        'print(s %\\\n"")\n\n'
        "# %%\n# %%bash\n# echo 1\n\n# %% [raw]\n# raw\n\n# %%\nprint('end')\n")
    compile(text, "script", "exec")


# ---- the command ---------------------------------------------------------------------------------


def test_formats_by_suffix_and_a_summary(convert, tmp_path):
    (tmp_path / "in.ipynb").write_text(json.dumps(rich_notebook()))
    starts = {"out.html": "<!DOCTYPE html>", "out.md": "# A", "out.py": "# %%", "out.ipynb": "{\n",
              "cells.json": '{"user_id":'}
    for name, start in starts.items():
        status, out, errors = convert.run("in.ipynb", "-o", name)
        assert status == 0 and out.decode().startswith(f"{name}: "), errors
        assert (tmp_path / name).read_text().startswith(start)
    status, out, _ = convert.run("cells.json", "-o", "again.ipynb", "--json")
    answer = json.loads(out)
    assert answer == {"input": "cells.json", "output": "again.ipynb", "format": "ipynb",
                      "language": "python", "cells": 10, "code_cells": 7, "outputs": 16,
                      "renamed_ids": 0, "bytes": (tmp_path / "again.ipynb").stat().st_size}
    assert not [name for name in os.listdir(tmp_path) if name.endswith("~")]


def test_an_existing_file_is_replaced_and_keeps_its_mode(convert, tmp_path):
    target, link = tmp_path / "real.ipynb", tmp_path / "link.ipynb"
    target.write_text(json.dumps(rich_notebook()))
    target.chmod(0o640)
    link.symlink_to(target)
    assert convert.run("link.ipynb", "-o", "link.ipynb")[0] == 0
    assert link.is_symlink() and stat.S_IMODE(target.stat().st_mode) == 0o640
    nbformat.validate(json.loads(target.read_text()))
    assert convert.run("real.ipynb", "-o", "/dev/null", "--to", "html")[0] == 0


def test_a_failure_leaves_the_old_file(convert, tmp_path):
    (tmp_path / "out.html").write_text("old")
    (tmp_path / "in.ipynb").write_text("{")
    assert convert.run("in.ipynb", "-o", "out.html")[0] == 64
    assert (tmp_path / "out.html").read_text() == "old"


def test_mistakes_are_told(convert, tmp_path):
    (tmp_path / "in.ipynb").write_text(json.dumps(rich_notebook()))
    for args, status, word in [
        ([], 64, "name one notebook"), (["missing.ipynb", "-o", "x.html"], 66, "missing.ipynb"),
        (["in.ipynb"], 64, "does not say its format"), (["in.ipynb", "-o", "x.zip"], 64, "suffix"),
        (["in.ipynb", "--to", "pdf"], 64, "pdf"),
        (["in.ipynb", "--from", "html", "--to", "ipynb"], 64, "cells-json or script"),
        (["in.ipynb", "--to", "html", "--json"], 64, "standard output"),
        (["in.ipynb", "--from", "cells-json", "-o", "x.html"], 64, "code"),
        (["in.ipynb", "-o", "no/such/folder/x.html"], 64, "cannot be written"),
    ]:
        done = convert.run(*args)
        assert done[0] == status and word.encode() in done[1] + done[2], (args, done)


def test_notebooks_of_this_machine(convert):
    """Whatever notebooks Debian packages have put here."""
    found = []
    for top in ("/usr/share/doc", "/usr/share/jupyter", "/usr/lib/python3/dist-packages"):
        for folder, _, names in os.walk(top):
            found += [os.path.join(folder, n) for n in names if n.endswith(".ipynb")]
    done = 0
    for path in found[:200]:
        with open(path, "rb") as file:
            text = file.read()
        try:
            before = json.loads(text)
            nbformat.validate(nbformat.from_dict(before))
        except Exception:
            continue
        if before.get("nbformat") != 4 or not before["cells"]:
            continue
        after = convert.notebook(text)
        assert len(after["cells"]) == len(before["cells"])
        Page(convert(text, "html"))
        done += 1
    print(f"{done} of {len(found)} notebooks", file=sys.stderr)
    if done == 0:
        pytest.skip("no package has brought a notebook")
