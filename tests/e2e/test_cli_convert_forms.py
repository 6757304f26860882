"""What `cella convert` makes of a notebook for others: cells.json, a page, Markdown, a script."""

import base64
import json
import re

import nbformat
import pytest

from harness.converting import NASTY, PNG, SVG, TABLE, Converter, Page, cells_json, rich_notebook

v4 = nbformat.v4


@pytest.fixture
def convert(cella, tmp_path):
    return Converter(cella, tmp_path)


# ---- cells.json ----------------------------------------------------------------------------------


@pytest.mark.smoke
def test_cells_json_has_the_fields_of_the_reference(convert):
    before = cells_json()
    assert json.loads(convert(before, "cells-json")) == before


@pytest.mark.smoke
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


@pytest.mark.smoke
def test_what_cella_wrote_about_cells_comes_back(convert):
    made = convert.notebook(cells_json())
    made["cells"][0]["metadata"]["mcp_repl"]["state"] = "INTERRUPTED"
    assert convert.notebook(made) == made
    back = json.loads(convert(made, "cells-json"))
    assert [cell["state"] for cell in back["cells"]] == ["ERROR", "ERROR", "COMPLETED"]
    assert (back["user_id"], back["cells"][0]["execution_time"]) == ("ana", 0.25)


@pytest.mark.smoke
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
