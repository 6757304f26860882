"""Holds answers against the shapes that operations declare: what is not declared is a failure."""

import functools
import json
import os
import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]


class Undeclared(AssertionError):
    """An answer has what its operation does not declare, or lacks what it declares."""


@functools.cache
def table():
    """The table of the program that is tested."""
    binary = os.environ.get("CELLA", SOURCE / "build" / "cella")
    told = subprocess.run([binary, "--dump", "operations"], check=True, capture_output=True)
    return Table(json.loads(told.stdout))


class Table:
    def __init__(self, told):
        self.operations = told["operations"]
        self.by_name = {op["name"]: op for op in self.operations}
        self.shapes = {shape["name"]: shape for shape in told["shapes"]}

    def find(self, method, path):
        """The operation that a request reaches, or None."""
        given = path.split("?")[0].split("/")
        method = "GET" if method == "HEAD" else method
        return next((op for op in self.operations if op["method"] == method and fits(op, given)),
                    None)

    def check_reply(self, method, path, reply):
        """`reply` has status, headers and body, as harness.client has it."""
        op = self.find(method, path)
        kind = reply.headers.get("Content-Type", "")
        if op is None or method == "HEAD" or reply.status in (304, 101):
            return
        if reply.status >= 400:
            self.check_failure(op, reply.json)
            return
        where = f"{op['name']} ({reply.status})"
        if reply.status not in op["statuses"]:
            raise Undeclared(f"{where}: declared are {op['statuses']}")
        if "sends" not in op and kind.startswith("application/json"):
            self.check_result(op, reply.json, where)

    def check_result(self, op, value, where):
        names = [op[member] for member in ("result", "other_result") if member in op]
        problems = [self.problem(self.shapes[name], value, where) for name in names]
        if all(problems):
            raise Undeclared(problems[0])

    def check_failure(self, op, value):
        where = f"{op['name']} (failed)"
        problem = self.problem(self.shapes["failure"], value, where)
        if not problem and value["error"]["code"] not in op["errors"]:
            problem = f"{where}: {value['error']['code']} is not declared: {value['error']}"
        if problem:
            raise Undeclared(problem)

    def check_event(self, op, name, value):
        where = f"{op['name']} (event {name})"
        if name == "result":
            self.check_result(op, value, where)
        elif name == "error":
            self.check_failure(op, value)
        else:
            shape = next((e["shape"] for e in op["events"] if e["name"] == name), None)
            problem = (f"{where} is not declared" if shape is None else
                       self.problem(self.shapes[shape], value, where))
            if problem:
                raise Undeclared(problem)

    def problem(self, shape, value, where):
        """What is wrong with an object; None: nothing."""
        if not isinstance(value, dict):
            return f"{where} is no object but {value!r:.80}"
        members = {member["name"]: member for member in shape["members"]}
        for name, given in value.items():
            if name not in members:
                return f"{where}: {shape['name']} declares no {name!r} (it is {given!r:.80})"
            if problem := self.member_problem(members[name], given, f"{where}.{name}"):
                return problem
        for name, member in members.items():
            if member.get("always") and name not in value:
                return f"{where}: {shape['name']} declares that {name!r} is always there"
        return None

    def member_problem(self, member, value, where):
        kind = member["type"]
        if value is None:
            return None if member.get("nullable") else f"{where} is null: it is not nullable"
        if not TYPES[kind](value):
            return f"{where} is no {kind} but {value!r:.80}"
        if "choices" in member and value not in member["choices"]:
            return f"{where} is none of {member['choices']} but {value!r:.80}"
        if "shape" not in member:
            return None
        shape = self.shapes[member["shape"]]
        entries = value if kind == "list" else [value]
        problems = (self.problem(shape, entry, f"{where}[{i}]") for i, entry in enumerate(entries))
        return next(filter(None, problems), None)


def fits(op, given):
    words = op["path"].split("/")
    if "has_tail" in op["flags"] and len(given) > len(words):
        given = given[: len(words)]
    return len(given) == len(words) and all(
        word == there or (word.startswith("{") and there) for word, there in zip(words, given))


def is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def is_text(value):
    return isinstance(value, str)


TYPES = {
    "text": is_text,
    "choice": is_text,
    "time": lambda value: is_text(value) and value[10:11] == "T" and value.endswith("Z"),
    "int": is_int,
    "size": lambda value: is_int(value) and value >= 0,
    "number": lambda value: is_int(value) or isinstance(value, float),
    "bool": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "free": lambda value: isinstance(value, dict),
    "texts": lambda value: isinstance(value, dict) and all(map(is_text, value.values())),
    "list": lambda value: isinstance(value, list),
    "int_list": lambda value: isinstance(value, list) and all(map(is_int, value)),
    "text_list": lambda value: isinstance(value, list) and all(map(is_text, value)),
    "any": lambda value: True,
}
