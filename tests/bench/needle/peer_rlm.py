"""Run by needle.py, with the Python that has rlms: the reference implementation of recursive
language models looks for the same needle and adds up the same errors. Its model is a script that
knows what to do, so nothing leaves the machine.

    peer_rlm.py TEXT USER    JSON on stdout: what the model was sent and said, and how long it took
"""

import json
import pathlib
import sys
import time

import rlm.core.rlm
from rlm import RLM
from rlm.clients.base_lm import BaseLM
from rlm.core.types import ModelUsageSummary, UsageSummary

REPLIES = [
    "```repl\nimport re\nprint(context[:200])\n"
    "print([line for line in context.splitlines() if re.search('vault.*code', line)])\n```",
    "```repl\nimport collections\nerrors = [l for l in context.splitlines() if ' ERROR ' in l]\n"
    "users = collections.Counter(l.split()[1] for l in errors).most_common()\nprint(users)\n"
    "answer['content'] = str(users[0])\nanswer['ready'] = True\n```",
]


class Script(BaseLM):
    """Says what is written above, and keeps what it was sent."""

    def __init__(self, **members):
        super().__init__(**members)
        self.prompts = []

    def completion(self, prompt):
        self.prompts.append([dict(message) for message in prompt])
        return REPLIES[len(self.prompts) - 1]

    async def acompletion(self, prompt):
        return self.completion(prompt)

    def get_last_usage(self):
        return ModelUsageSummary(len(self.prompts), 0, 0)

    def get_usage_summary(self):
        return UsageSummary({self.model_name: self.get_last_usage()})


def main():
    text, expected = pathlib.Path(sys.argv[1]).read_text(), sys.argv[2]
    script = Script(model_name="script")
    rlm.core.rlm.get_client = lambda backend, members: script
    began = time.monotonic()
    told = RLM(backend="openai", backend_kwargs={"model_name": "script"}).completion(text)
    seconds = time.monotonic() - began
    last = [message["content"] for message in script.prompts[-1]]
    first = len(script.prompts[0])  # messages before it said anything
    assert expected in told.response, (expected, told.response)
    assert "7391-KESTREL" in "".join(last)
    json.dump({"calls": len(script.prompts), "seconds": seconds, "rules": "\n".join(last[:first]),
               "explored": "\n".join([*last[first:], REPLIES[-1]])}, sys.stdout)


if __name__ == "__main__":
    main()
