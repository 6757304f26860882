"""Notebooks to convert, `cella convert` itself, and a reader of the pages that it makes."""

import base64
import html.parser
import json
import struct
import subprocess
import zlib

import nbformat

from .host import PATIENCE

v4 = nbformat.v4

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
                              timeout=PATIENCE, cwd=self.folder)
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
