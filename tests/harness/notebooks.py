"""A notebook, as a caller of the REST interface sees it."""

import time
from urllib.parse import quote, urlencode

import pytest

from . import host
from .client import ApiError, Client, block


class Notebook:
    def __init__(self, client, notebook_id):
        self.client, self.id = client, notebook_id
        self.path = f"/v1/notebooks/{notebook_id}"

    def call(self, method, path="", body=None):
        return self.client.call(method, self.path + path, body)

    def cell_path(self, cell):
        return f"/cells/{quote(str(cell), safe='')}"

    # Reading.

    def info(self, **query):
        return self.call("GET", f"?{urlencode(query)}" if query else "")

    def page(self, **query):
        return self.call("GET", f"/cells?{urlencode(query)}")

    def cells(self, outputs=False):
        """All of them, page by page."""
        found = []
        while True:
            page = self.page(offset=len(found), limit=1000, outputs=str(outputs).lower())
            found += page.cells
            if len(found) >= page.count or not page.cells:
                return found

    def cell(self, name):
        return self.call("GET", self.cell_path(name))

    def index(self, answer):
        """Where the cell stands that an answer is about."""
        return self.cell(answer["cell_id"])["index"]

    def sources(self):
        return [cell.code for cell in self.cells()]

    def export(self, form="ipynb"):
        reply = self.client.request("GET", f"{self.path}/export?format={form}")
        assert reply.status == 200, reply
        return reply

    # Changing.

    def add(self, source, **members):
        """The new cell's id; or, if it is run, the answer."""
        answer = self.call("POST", "/cells", {"code": block(source), **members})
        return answer if members.get("run") else answer.cell.cell_id

    def edit(self, cell, **members):
        return self.call("PATCH", self.cell_path(cell), members).cell

    def move(self, cell, to):
        return self.call("POST", f"{self.cell_path(cell)}/move", {"to": to}).cell

    def delete(self, cell):
        return self.call("DELETE", self.cell_path(cell))

    def clear(self, cell):
        return self.call("POST", f"{self.cell_path(cell)}/clear", {}).cell

    # Running.

    def run(self, cell, **members):
        return self.call("POST", f"{self.cell_path(cell)}/run", members)

    def run_range(self, **members):
        return self.call("POST", "/run", members)

    def events(self):
        """What happens from now on; the first is there at once: `watching`."""
        return self.client.events(f"{self.path}/events", method="GET")


def text_of(cell):
    """All that a cell wrote to its streams."""
    return "".join(o["text"] for o in cell["outputs"] if o.get("stream"))


def value_of(cell):
    (value,) = [o for o in cell["outputs"] if o.get("value")]
    return value["text"]


def settle(client, cells):
    """Waits until none of the cells that cells() lists waits or runs: also of what was asked by
    callers who went away, who were accepted before who comes now."""
    for _ in range(2):
        last = Client(client.address, client.key)
        last.call("GET", "/health")
        last.close()

    def is_quiet():
        """For a while: between two cells of a range there are moments without any."""
        for _ in range(10):
            if any(cell.status in ("queued", "running") for cell in cells()):
                return False
            time.sleep(0.05)
        return True

    host.eventually(is_quiet, "the end of all runs")


def of(session):
    """The notebook of a session."""
    return Notebook(session.client, session.id)


def refusal(call, *args, **members):
    """The error by which such a call is refused."""
    with pytest.raises(ApiError) as caught:
        call(*args, **members)
    assert caught.value.message
    return caught.value
