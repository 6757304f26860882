"""Images of imported files: what is none, claims to be another, is nothing, or is too large."""

import base64
import json
import struct
import zlib

import nbformat
import pytest

from harness.notebooks import Notebook

pytestmark = pytest.mark.one_mode

FORMS = ("ipynb", "html", "markdown", "script", "cells-json")


def png(width, height):
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
            + chunk(b"IDAT", zlib.compress((b"\0" + b"\x40\x80\xc0" * width) * height))
            + chunk(b"IEND", b""))


def text(data):
    return base64.b64encode(data).decode()


def shown(mime, data, **metadata):
    return {"output_type": "display_data", "data": {mime: data}, "metadata": metadata}


def document(*outputs):
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": "", "execution_count": 1,
            "outputs": list(outputs)}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}


@pytest.fixture
def load(client):
    made = []

    def do(*outputs):
        answer = client.call("POST", "/v1/notebooks/import", {"content": document(*outputs)})
        made.append(Notebook(client, answer["notebook_id"]))
        return made[-1]

    yield do
    for notebook in made:
        notebook.call("DELETE")


def outputs_of(notebook):
    return notebook.cell(0)["outputs"]


def exported(notebook):
    """The outputs as Jupyter gets them; every other format can be written, too."""
    for form in FORMS:
        assert len(notebook.export(form).body) > 0
    made = json.loads(notebook.export("ipynb").body)
    nbformat.validate(nbformat.from_dict(made))
    return made["cells"][0]["outputs"]


@pytest.mark.smoke
@pytest.mark.each_mode
def test_an_image_under_the_name_of_another(load, client):
    notebook = load(shown("image/jpeg", text(png(30, 20))), shown("image/png", text(png(30, 20))))
    lie, truth = outputs_of(notebook)
    for output in (lie, truth):
        assert (output["format"], output["width"], output["height"]) == ("png", 30, 20)
        reply = client.request("GET", output["url"])
        assert (reply.headers["Content-Type"], reply.body) == ("image/png", png(30, 20))
        assert client.request("GET", output["url"] + "?width=10").status == 200
    # It leaves as what it is.
    assert [list(output["data"]) for output in exported(notebook)] == [["image/png"]] * 2


@pytest.mark.parametrize("size", [{"width": 15, "height": 10}, {"width": 300}, {"height": 7},
                                  {"width": 15, "alt": "a"}])  # fmt: skip
def test_the_size_in_which_it_is_to_be_shown_stays(load, size):
    notebook = load(shown("image/png", text(png(30, 20)), **{"image/png": size}))
    (output,) = outputs_of(notebook)
    assert (output["width"], output["height"]) == (30, 20)
    (made,) = exported(notebook)
    assert made["metadata"] == {"image/png": size}
    page = notebook.export("html").body.decode()
    assert (f'width="{size["width"]}"' in page) if "width" in size else ('width="30"' not in page)


@pytest.mark.smoke
def test_the_size_in_which_a_cell_shows_it_stays(session, book):
    code = f"import base64\npng = base64.b64decode('{text(png(30, 20))}')\n"
    answer = session.exec(code + "from IPython.display import Image\nImage(png, width=15)")
    assert (answer.value["width"], "metadata" in answer.value) == (30, False)
    (made,) = exported(book)
    assert made["metadata"] == {"image/png": {"width": 15}}
    session.exec("Image(png)")
    whole = json.loads(book.export("ipynb").body)["cells"][1]["outputs"]
    assert whole[0]["metadata"] == {"image/png": {"width": 30, "height": 20}}


@pytest.mark.parametrize("mime", ["image/png", "image/jpeg", "image/gif", "image/webp",
                                  "image/bmp"])
@pytest.mark.parametrize("data", [b"this is a text", b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff",
                                  bytes(5000), png(30, 20)[:40]])  # fmt: skip
@pytest.mark.sampled(4)
def test_bytes_that_are_no_image_are_kept_as_they_are(load, client, mime, data):
    notebook = load(shown(mime, text(data)))
    (output,) = outputs_of(notebook)
    if data.startswith(b"\x89PNG") and len(data) > 33:  # cut off, but its header is there
        assert (output["format"], output["width"]) == ("png", 30)
    else:
        assert output["format"] == mime.removeprefix("image/") and "width" not in output
    reply = client.request("GET", output["url"])
    assert (reply.status, reply.body) == (200, data)
    assert "sandbox" in reply.headers["Content-Security-Policy"]
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    refused = client.request("GET", output["url"] + "?width=10")
    assert refused.status in (400, 409) and refused.json["error"]["advice"]
    (left,) = exported(notebook)
    assert list(left["data"].values()) == [text(data)]


@pytest.mark.parametrize("data", ["no-base64!!", "AAA", "====", "AA=A", "\u00e4\u00f6", "data:,x"])
def test_what_is_no_base64_stays_text_of_the_cell(load, data):
    notebook = load(shown("image/png", data), shown("image/png", text(png(3, 2))))
    broken, whole = outputs_of(notebook)
    assert broken["data"] == data and "url" not in broken
    assert whole["url"].endswith("/images/0")  # those that are kept are counted
    assert exported(notebook)[0]["data"] == {"image/png": data}


@pytest.mark.smoke
def test_lines_of_base64_are_one(load, client):
    data = text(png(300, 200))
    lines = [line + "\n" for line in (data[i : i + 76] for i in range(0, len(data), 76))]
    notebook = load(shown("image/png", lines))
    (output,) = outputs_of(notebook)
    assert client.request("GET", output["url"]).body == png(300, 200)
    assert exported(notebook)[0]["data"] == {"image/png": data}


@pytest.mark.slow
@pytest.mark.parametrize("part, times, why", [
    ("QUFB", 24 << 20, "67108864 can be kept"),  # 100 MB; an import has up to 128
    ("no-base64!!", 100_000, "is not base64"),
])
def test_an_image_that_is_too_large_costs_itself(load, client, part, times, why):
    notebook = load(shown("image/png", part * times), shown("image/png", text(png(3, 2))),
                    {"output_type": "stream", "name": "stdout", "text": "beside it"})
    left_out, image, beside = outputs_of(notebook)
    assert left_out["type"] == "text" and why in left_out["text"]
    assert image["url"].endswith("/images/0") and beside["text"] == "beside it"
    assert why in "".join(exported(notebook)[0]["data"]["text/plain"])
    assert client.call("GET", "/health")
