"""`cella convert`: notebooks in and out, checked by Jupyter's own tools where these know better."""

import copy
import json
import os
import random
import stat
import sys

import nbformat
import pytest

from harness import jupyter
from harness.converting import PNG, Converter, Page, rich_notebook

v4 = nbformat.v4


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


@pytest.mark.smoke
def test_a_round_trip_keeps_everything(convert):
    before = rich_notebook()
    after = convert.notebook(before)
    assert joined(after) == joined(before)
    assert convert.notebook(after) == after


@pytest.mark.smoke
def test_the_same_input_gives_the_same_bytes(convert):
    notebook = rich_notebook()
    for cell in notebook["cells"]:
        del cell["id"]
    notebook["nbformat_minor"] = 2
    assert convert(notebook, "ipynb") == convert(notebook, "ipynb")


@pytest.mark.smoke
def test_lines_of_source_keep_their_ends(convert):
    notebook = v4.new_notebook(cells=[v4.new_code_cell("a = 1\nb = 2\n\nc"),
                                      v4.new_code_cell("ends\n"), v4.new_code_cell("")])
    sources = [cell["source"] for cell in convert.notebook(notebook)["cells"]]
    assert sources == [["a = 1\n", "b = 2\n", "\n", "c"], ["ends\n"], []]


@pytest.mark.smoke
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


@pytest.mark.slow
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

    for _ in range(15):
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_hundred_thousand_cells_of_one_id_are_converted_in_time(convert):
    cell = b'{"cell_type":"raw","id":"a","source":"","metadata":{}}'
    many = b'{"nbformat":4,"cells":[' + (cell + b",") * 99999 + cell + b"]}"
    made = json.loads(convert(many, "ipynb"))
    assert len({cell["id"] for cell in made["cells"]}) == 100000


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


@pytest.mark.parametrize("suffix, form, language", [
    ("ipynb", "ipynb", None), ("json", "cells-json", None), ("html", "html", None),
    ("htm", "html", None), ("md", "markdown", None), ("markdown", "markdown", None),
    ("py", "script", "python"), ("js", "script", "javascript"), ("mjs", "script", "javascript"),
    ("cjs", "script", "javascript"), ("sh", "script", "bash"), ("bash", "script", "bash"),
])
def test_every_suffix(convert, tmp_path, suffix, form, language):
    made = v4.new_notebook(cells=[v4.new_code_cell("x")], metadata={"kernelspec": {
        "name": "k", "display_name": "K", "language": language or "python"}})
    (tmp_path / "in.ipynb").write_text(json.dumps(made))
    status, out, errors = convert.run("in.ipynb", "-o", f"out.{suffix}", "--json")
    assert status == 0, errors
    assert json.loads(out)["format"] == form and (tmp_path / f"out.{suffix}").stat().st_size > 0
    others = {"py": "python", "js": "javascript", "sh": "bash"}
    for other in [s for s, name in others.items() if language and name != language]:
        status, _, errors = convert.run("in.ipynb", "-o", f"other.{other}")
        assert status == 64 and not (tmp_path / f"other.{other}").exists(), errors


@pytest.mark.parametrize("form", ["ipynb", "cells-json", "html", "markdown", "script"])
def test_a_notebook_without_cells_is_refused(convert, form):
    empty = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}
    assert "is empty" in convert.refusal(empty, form)


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


@pytest.mark.slow
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
