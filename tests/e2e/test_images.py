"""Images of cells: by reference, as they are, and at the size that a client asks for."""

import base64
import struct
import zlib

import pytest
from harness.client import ApiError

# Written into every session that draws: a PNG without any library.
DRAW = """
import struct, zlib
from IPython.display import Image, SVG, display
def png(width, height, pixel=b"\\xff\\x00\\x00"):
    def chunk(kind, data):
        checksum = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\\0" + pixel * width) * height
    return (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows))
            + chunk(b"IEND", b""))
"""


@pytest.fixture
def artist(spawn):
    session = spawn()
    session.exec(DRAW)
    return session


def shown(session, code, **options):
    """The outputs of a cell, by reference."""
    answer = session.exec(code, **options)
    assert answer["status"] == "ok", answer
    return answer["outputs"]


def fetch(session, url, **headers):
    return session.client.request("GET", url, headers=headers)


def pixels(data):
    """Width, height and the rows of an RGB PNG whose rows have no filter or the first ones."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", data[16:24])


def refusal(session, url):
    with pytest.raises(ApiError) as caught:
        session.client.call("GET", url)
    return caught.value


@pytest.mark.slow
def test_an_image_has_up_to_24_mebibytes(artist):
    for more, kind in ((0, "image"), (1, "text")):
        (output,) = shown(artist, f"data = png(3, 2)\nlarge = data + bytes((24 << 20) + {more} "
                                  "- len(data))\ndisplay(Image(large))")
        assert output["type"] == kind
        if kind == "image":
            assert (output["width"], output["bytes"]) == (3, 24 << 20)
        else:
            assert "25165825 bytes: too large to show" in output["text"]


@pytest.mark.smoke
def test_an_image_is_a_reference_and_can_be_fetched(artist):
    (image,) = shown(artist, "display(Image(png(300, 200)))")
    assert (image["format"], image["width"], image["height"]) == ("png", 300, 200)
    assert "data" not in image and "hash" not in image
    reply = fetch(artist, image["url"])
    assert (reply.status, reply.headers["Content-Type"]) == (200, "image/png")
    assert len(reply.body) == image["bytes"] and pixels(reply.body) == (300, 200)
    assert reply.headers["Cache-Control"] == "private, no-cache"
    assert "sandbox" in reply.headers["Content-Security-Policy"]


@pytest.mark.parametrize("query, size", [
    ("width=100", (100, 67)), ("height=50", (75, 50)), ("width=100&height=10", (15, 10)),
    ("width=300", (300, 200)), ("width=5000&height=5000", (300, 200)), ("width=1", (1, 1)),
])  # fmt: skip
@pytest.mark.sampled(3)
def test_the_client_chooses_the_size(artist, query, size):
    (image,) = shown(artist, "display(Image(png(300, 200)))")
    reply = fetch(artist, f"{image['url']}?{query}")
    assert (reply.status, reply.headers["Content-Type"]) == (200, "image/png")
    assert pixels(reply.body) == size
    raw = zlib.decompress(idat(reply.body))
    assert raw[1:4] == b"\xff\x00\x00"  # red stays red


def idat(data):
    at, found = 8, b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            found += data[at + 8 : at + 8 + length]
        at += 12 + length
    return found


# 300 by 200 pixels, red.
PHOTO = (
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywt"
    "QFdBRkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09P"
    "T09PT09PT09PT09PT09PT09PT0//wAARCADIASwDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAb/xAAUEAEA"
    "AAAAAAAAAAAAAAAAAAAA/8QAFgEBAQEAAAAAAAAAAAAAAAAAAAUH/8QAFBEBAAAAAAAAAAAAAAAAAAAAAP/aAAwDAQAC"
    "EQMRAD8AnwEZpIAA"
    + "A" * 481 + "D//2Q=="
)


@pytest.mark.parametrize("query, size", [("width=100", (100, 67)), ("height=50", (75, 50)),
                                         ("width=300", (300, 200))])  # fmt: skip
@pytest.mark.sampled(3)
def test_a_photograph_is_scaled_and_stays_one(artist, query, size):
    artist.exec(f"import base64; photo = base64.b64decode({PHOTO!r})")
    (image,) = shown(artist, "display(Image(photo))")
    assert (image["format"], image["width"], image["height"]) == ("jpeg", 300, 200)
    reply = fetch(artist, f"{image['url']}?{query}")
    assert (reply.status, reply.headers["Content-Type"]) == (200, "image/jpeg")
    frame = reply.body.index(b"\xff\xc0")
    height, width = struct.unpack(">HH", reply.body[frame + 5 : frame + 9])
    assert (width, height) == size and reply.body.endswith(b"\xff\xd9")
    small = artist.client.call("GET", f"/v1/notebooks/{artist.id}/reference?uri={name_of(image)}"
                               f"&data=true&{query}")
    assert base64.b64decode(small["data"]) == reply.body
    cut = shown(artist, "display(Image(photo[:400], format='jpeg'))")[0]
    assert fetch(artist, cut["url"]).status == 200
    assert fetch(artist, cut["url"] + "?width=10").status == 409


@pytest.mark.smoke
def test_what_a_client_has_is_not_sent_again(artist):
    (image,) = shown(artist, "display(Image(png(300, 200)))")
    tags = set()
    for query in ("", "?width=100"):
        first = fetch(artist, image["url"] + query)
        tag = first.headers["ETag"]
        tags.add(tag)
        again = fetch(artist, image["url"] + query, **{"If-None-Match": tag})
        assert (again.status, again.body) == (304, b"")
        assert again.headers["ETag"] == tag
        other = fetch(artist, image["url"] + query, **{"If-None-Match": '"other"'})
        assert (other.status, other.body) == (200, first.body)
    assert len(tags) == 2


@pytest.mark.smoke
def test_images_of_a_cell_are_counted(artist):
    first, second = shown(artist, "display(Image(png(10, 10))); display(Image(png(20, 20)))")
    assert first["url"].endswith("/images/0") and second["url"].endswith("/images/1")
    assert pixels(fetch(artist, second["url"]).body) == (20, 20)
    refused = refusal(artist, first["url"][:-1] + "7")
    assert refused.status == 404 and refused.advice


def name_of(image):
    """Its name in the notebook, by its url."""
    _, _, _, notebook, _, cell, _, n = image["url"].split("/")
    return f"notebook://{notebook}/cell/{cell}/image/{n}"


def test_references_are_resolved(artist):
    (image,) = shown(artist, "display(Image(png(300, 200)))")
    base = f"/v1/notebooks/{artist.id}/reference"
    told = artist.client.call("GET", f"{base}?uri={name_of(image)}")
    assert told == {
        "uri": name_of(image), "format": "png", "width": 300, "height": 200,
        "bytes": image["bytes"], "url": image["url"],
    }  # fmt: skip
    for short in ("notebook://cell/1/image/0", "notebook://cell/-1/image/0"):
        assert artist.client.call("GET", f"{base}?uri={short}") == told


def test_references_give_the_data_at_the_size_asked_for(artist):
    (image,) = shown(artist, "display(Image(png(300, 200)))")
    base = f"/v1/notebooks/{artist.id}/reference?uri={name_of(image)}"
    whole = artist.client.call("GET", f"{base}&data=true")
    assert base64.b64decode(whole["data"]) == fetch(artist, image["url"]).body
    small = artist.client.call("GET", f"{base}&data=true&width=30")
    data = base64.b64decode(small["data"])
    assert pixels(data) == (30, 20) == (small["width"], small["height"])
    assert small["bytes"] == len(data)
    assert fetch(artist, small["url"]).body == data


@pytest.mark.parametrize("uri", [
    "x", "notebook://", "notebook://cell/0", "notebook://cell/0/image/",
    "notebook://cell/0/image/x", "notebook://cell/0/image/0/1/2", "notebook://cell//image/0",
    "http://cell/0/image/0", "notebook://cell/0/output/0", "notebook://cell/0/image/99999999",
    "notebook://00000000-0000-4000-8000-000000000000/cell/0/image/0",
])  # fmt: skip
@pytest.mark.sampled(3)
def test_what_is_no_reference_is_refused(artist, uri):
    refused = refusal(artist, f"/v1/notebooks/{artist.id}/reference?uri={uri}")
    assert refused.status == 400 and refused.advice


def test_svg_is_sent_as_it_is_and_cannot_do_harm(artist):
    text = "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    (image,) = shown(artist, f"display(SVG({text!r} + '<!-- ' + 'x' * 4000 + ' -->'))")
    assert (image["type"], image["format"]) == ("svg", "svg")
    reply = fetch(artist, image["url"])
    assert reply.headers["Content-Type"] == "image/svg+xml"
    assert "sandbox" in reply.headers["Content-Security-Policy"]
    assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
    refused = refusal(artist, image["url"] + "?width=10")
    assert refused.status == 400 and "only PNG and JPEG are scaled" in refused.message


@pytest.mark.parametrize("change", [
    "data[:-40]",                                   # cut off
    "data[:60] + bytes(100) + data[160:]",          # damaged
    "b'\\x89PNG' + bytes(5000)",                    # nothing but a beginning
    "png(2, 2)[:16] + struct.pack('>II', 9999, 9999) + png(2, 2)[24:]",  # a size that is a lie
])  # fmt: skip
@pytest.mark.sampled(2)
def test_damaged_pictures_cost_nobody_anything(artist, change):
    (image,) = shown(
        artist, f"import os; data = png(300, 200, os.urandom(3)); "
        f"display(Image({change}, format='png'))"
    )
    whole = fetch(artist, image["url"])
    assert whole.status == 200
    reply = fetch(artist, image["url"] + "?width=10")
    assert reply.status in (400, 409)
    assert artist.exec("1 + 1")["value"]["text"] == "2"


@pytest.mark.slow
def test_many_ask_at_once(artist):
    (image,) = shown(artist, "display(Image(png(1000, 750)))")
    connections = [artist.client.new_connection() for _ in range(20)]
    for n, connection in enumerate(connections):
        connection.request("GET", f"{image['url']}?width={100 + n}",
                           headers=artist.client.headers())  # fmt: skip
    for n, connection in enumerate(connections):
        response = connection.getresponse()
        assert response.status == 200
        assert pixels(response.read())[0] == 100 + n
        connection.close()


@pytest.mark.slow
def test_more_than_can_wait_are_told(artist):
    """Which of them are told is the daemon's choice: all may lie there when it looks. On a slow
    machine some of the others wait for too long, and are told that."""
    (image,) = shown(artist, "display(Image(png(2400, 2400)))")
    connections = [artist.client.new_connection() for _ in range(100)]
    for connection in connections:
        connection.connect()
    for n, connection in enumerate(connections):
        connection.request("GET", f"{image['url']}?width={100 + n}",
                           headers=artist.client.headers())  # fmt: skip
    statuses = []
    for connection in connections:
        response = connection.getresponse()
        told = response.read()
        statuses.append(response.status)
        assert response.status in (200, 429) or b"other pictures were scaled for 20 s" in told, told
        connection.close()
    assert {200, 429} <= set(statuses)
    assert len(statuses) - statuses.count(429) >= 32


@pytest.mark.slow
def test_nobody_waits_for_those_who_went_away(artist):
    (image,) = shown(artist, "display(Image(png(4000, 4000)))")
    for n in range(60):
        connection = artist.client.new_connection()
        connection.request("GET", f"{image['url']}?width={n + 10}",
                           headers=artist.client.headers())  # fmt: skip
        connection.close()
    while (reply := fetch(artist, f"{image['url']}?width=9")).status == 429:
        pass  # the last of them is not noticed yet
    assert reply.status == 200


def test_images_go_with_their_cell(artist):
    (image,) = shown(artist, "display(Image(png(30, 30)))")
    artist.client.call("DELETE", image["url"].rpartition("/images/")[0])
    assert refusal(artist, image["url"]).status == 404


LARGE = """
def large(side):
    def chunk(kind, data):
        checksum = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)  # a bit each
    rows = bytes(1 + (side + 7) // 8) * side
    return (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows))
            + chunk(b"IEND", b""))
"""


@pytest.mark.parametrize("side, status", [
    pytest.param(8000, 200, marks=pytest.mark.slow), (8300, 413)])
def test_pictures_of_too_many_pixels_are_not_scaled(artist, side, status):
    artist.exec(LARGE)
    (image,) = shown(artist, f"display(Image(large({side})))")
    assert fetch(artist, image["url"] + "?width=10").status == status
    assert fetch(artist, image["url"]).status == 200
