"""The official Python SDK (`mcp` from PyPI), in either era: the story of story.mjs.

    client_python.py ERA http URL | client_python.py ERA stdio COMMAND ARG...
"""

import base64
import json
import os
import re
import sys

import anyio
from mcp import Client, StdioServerParameters, types

LOOP = "import time\nfor i in range(2000):\n    print('step', i, flush=True)\n    time.sleep(0.05)"


def text_of(result):
    return "\n".join(part.text for part in result.content if part.type == "text")


async def answer_form(context, params):
    """What a server asks of the user: the one text that its form has."""
    (name,) = params.requested_schema["properties"]
    return types.ElicitResult(action="accept", content={name: "Ada"})


class Story:
    def __init__(self, client, own):
        self.client, self.own = client, own

    async def call(self, name, **args):
        return await self.client.call_tool(name, {**self.own, **args})

    async def run(self, code, **more):
        return await self.call("run", code=code, **more)

    async def state(self):
        await self.run("x = 20")
        assert text_of(await self.run("x + 1")).startswith("21")

    async def plot(self):
        shown = await self.run("plt.plot([1, 4, 9]); plt.show()")
        (image,) = [part for part in shown.content if part.type == "image"]
        assert image.mime_type == "image/png"
        assert base64.b64decode(image.data)[1:4] == b"PNG"

    async def progress_and_cancellation(self):
        heard = []

        async def on_progress(progress, total, message):
            heard.append((progress, message))
            if len(heard) == 2:
                scope.cancel()

        with anyio.CancelScope() as scope:
            await self.client.call_tool("run", {**self.own, "code": LOOP},
                                        progress_callback=on_progress)
        assert scope.cancelled_caught
        assert heard[1][0] > heard[0][0] and heard[1][1].startswith("step"), heard
        assert "True" in text_of(await self.run("i < 1999"))

    async def input(self):
        told = await self.run("name = input('Your name? ')\nprint('Hello', name)")
        assert "Hello Ada" in text_of(told)

    async def crash(self):
        await self.run("kept = 7")
        assert (await self.run("import os; os._exit(3)")).is_error
        assert text_of(await self.run("kept")).startswith("7")

    async def undo(self):
        await self.run("x = 99")
        await self.call("back", action="undo")
        assert text_of(await self.run("x")).startswith("20")

    async def branch(self):
        made = text_of(await self.call("back", action="branch"))
        session = re.search(r'session="([^"]+)"', made)[1]
        await self.run("x = -1", session=session)
        assert text_of(await self.run("x", session=session)).startswith("-1")
        assert text_of(await self.run("x")).startswith("20")

    async def errors(self):
        failed = await self.run("1/0")
        assert failed.is_error and "ZeroDivisionError" in text_of(failed)


STEPS = [name for name in vars(Story) if name not in ("call", "run") and name[0] != "_"]


async def main(era, way, target, *args):
    server = (target if way == "http" else
              StdioServerParameters(command=target, args=list(args), env=dict(os.environ)))
    own = {"session": f"python-sdk-{os.getpid()}"} if (era, way) == ("modern", "http") else {}
    mode = "2026-07-28" if era == "modern" else "legacy"
    async with Client(server, mode=mode, elicitation_callback=answer_form,
                      read_timeout_seconds=120) as client:
        assert (client.protocol_version == "2026-07-28") == (era == "modern")
        await client.list_tools()
        story = Story(client, own)
        for name in STEPS:
            await getattr(story, name)()
    print(json.dumps(STEPS))


anyio.run(main, *sys.argv[1:])
