"""The parts of the clients that are made from the table of operations, and the Python client
without asyncio, which is made from the one with it. packaging/pages.py writes and checks them with
the rest."""

import keyword
import pathlib
import re
import textwrap

TOP = pathlib.Path(__file__).resolve().parent.parent
PYTHON = TOP / "clients/python/cella"
JS = TOP / "clients/js/src"
MADE = "Made by packaging/pages.py from the program's table of operations: do not edit."

# Of the last result of operations that answer in JSON or in text, the text has a method of its own.
JSON_OR_TEXT = {"json", "text"}


def camel(name):
    return "".join(word.capitalize() for word in re.split(r"[._]", name))


def lower_camel(name):
    text = camel(name)
    return text[0].lower() + text[1:]


class Operation:
    """What both clients ask about an operation."""

    def __init__(self, told):
        self.told, self.name, self.doc = told, told["name"], told["doc"]
        self.flags = told["flags"]
        formats = [p for p in told["params"] if set(p.get("choices", [])) == JSON_OR_TEXT]
        self.has_text = bool(formats)
        self.params = [p for p in told["params"] if p not in formats]
        self.required = [p for p in self.params if p["required"]]
        self.optional = [p for p in self.params if not p["required"]]
        self.takes_bytes = "takes_bytes" in self.flags
        self.is_tunnel = "tunnels" in self.flags
        self.is_socket = told["statuses"] == [101]
        self.results = [told[m] for m in ("result", "other_result") if m in told]

    def kinds(self):
        """The methods it has: their suffix and what they call."""
        if self.is_socket:
            return [("", "socket")]
        if self.is_tunnel:
            return [("", "tunnel")]
        if "only_streams" in self.flags:
            return [("", "events")]
        found = [("", "json" if self.results else "bytes")]
        if self.has_text:
            found.append(("_text", "text"))
        if "streams" in self.flags:
            found.append(("_events", "events"))
        return found


# ---- Python -------------------------------------------------------------------------------------

PY_TYPES = {"text": "str", "int": "int", "bool": "bool", "choice": "str", "object": "t.Any",
            "number": "float", "time": "str", "size": "int", "int_list": "t.List[int]",
            "text_list": "t.List[str]", "any": "t.Any", "texts": "t.Dict[str, str]",
            "free": "t.Dict[str, t.Any]", "list": "t.List[t.Any]"}
PY_GIVEN = {"text": "str", "int": "int", "bool": "bool", "object": "t.Mapping[str, t.Any]",
            "texts": "t.Mapping[str, str]", "list": "t.Sequence[t.Mapping[str, t.Any]]",
            "free": "t.Mapping[str, t.Any]", "file": "t.Union[str, t.Mapping[str, t.Any]]"}


def py_name(name):
    return name + "_" if keyword.iskeyword(name) else name


def py_literal(choices):
    return "t.Literal[" + ", ".join(f'"{choice}"' for choice in choices) + "]"


def py_member(member):
    kind = PY_TYPES[member["type"]]
    if "shape" in member:
        kind = camel(member["shape"])
        kind = f"t.List[{kind}]" if member["type"] == "list" else kind
    return f"t.Optional[{kind}]" if member.get("nullable") else kind


def py_shape(shape):
    """A TypedDict: what is always there in a class of its own, as Python before 3.11 wants it."""
    name, lines, bases = camel(shape["name"]), [], []
    for is_always, suffix in ((True, "Always"), (False, "Odd")):
        members = [m for m in shape["members"] if bool(m.get("always")) is is_always]
        odd = [m for m in members if keyword.iskeyword(m["name"])]
        plain = [m for m in members if m not in odd]
        if odd:
            entries = ", ".join(f'"{m["name"]}": "{py_member(m)}"' for m in odd)
            lines += [f'_{name}{suffix}Words = t.TypedDict("_{name}{suffix}Words", '
                      f"{{{entries}}}, total={is_always})", "", ""]
            bases.append(f"_{name}{suffix}Words")
        if is_always and plain:
            lines += [f"class _{name}Always(t.TypedDict):"]
            lines += [f"    {m['name']}: {py_member(m)}" for m in plain] + ["", ""]
            bases.append(f"_{name}Always")
        elif not is_always:
            rest = plain
    lines += [f"class {name}({', '.join(bases)}, total=False):" if bases
              else f"class {name}(t.TypedDict, total=False):"]
    lines += [f'    """{shape["doc"]}"""'] + ([""] if rest else [])
    lines += [f"    {m['name']}: {py_member(m)}" for m in rest]
    return "\n".join(lines)


def py_shapes(shapes):
    head = f'"""The objects of answers. {MADE}"""\n\nfrom __future__ import annotations\n\n' \
           "import typing as t\n"
    return head + "".join("\n\n" + py_shape(shape) + "\n" for shape in shapes)


def py_parameter(param):
    kind = py_literal(param["choices"]) if "choices" in param else PY_GIVEN[param["type"]]
    if param["required"]:
        return f"{py_name(param['name'])}: {kind}"
    return f"{py_name(param['name'])}: t.Optional[{kind}] = None"


def py_wrapped(text, indent, width=100):
    return textwrap.wrap(text, width - indent, break_long_words=False, break_on_hyphens=False)


def py_doc(op, kind, optional):
    doc = {"text": "The same as text for a model, in the order in which it happened.",
           "events": "Its events as they happen; the last one is `result`."}
    text = op.doc if kind not in doc or "only_streams" in op.flags else f"{op.doc} {doc[kind]}"
    lines = py_wrapped('"""' + text.replace("\\", "\\\\"), 8)
    if not op.params or kind != op.kinds()[0][1]:
        return lines[:-1] + [lines[-1] + '"""'] if len(lines[-1]) < 89 else lines + ['"""']
    lines.append("")
    for param in op.required + optional:
        words = f"{py_name(param['name'])}: {param['doc']}".replace("\\", "\\\\")
        first, *rest = py_wrapped(words, 8)
        lines += [first] + ["    " + line for line in py_wrapped(" ".join(rest), 12)]
    return lines + ['"""']


def py_method(op, suffix, kind, is_async):
    prefix = "Async" if is_async else ""
    optional = op.optional
    words = ["self"] + [py_parameter(p) for p in op.required]
    if op.takes_bytes:
        words.append("data: Data")
    if optional or op.is_tunnel:
        words.append("*")
    words += [py_parameter(p) for p in optional]
    if op.is_tunnel:
        words += ['method: str = "GET"', 'path: str = ""', "data: t.Optional[Data] = None",
                  "headers: t.Optional[t.Mapping[str, str]] = None"]
    answers = {"json": "t.Union[" + ", ".join("shapes." + camel(r) for r in op.results) + "]"
               if len(op.results) > 1 else "shapes." + camel(op.results[0]) if op.results else "",
               "text": "str", "bytes": "bytes", "events": f"{prefix}Events",
               "socket": f"{prefix}Socket", "tunnel": "Reply"}
    begin = "async def" if is_async and kind != "events" else "def"
    name = py_name(op.name.replace(".", "_")) + suffix
    lines = py_signature(f"    {begin} {name}(", words, f") -> {answers[kind]}:")
    lines += ["        " + line if line else "" for line in py_doc(op, kind, optional)]
    entries = [f'"{p["name"]}": {py_name(p["name"])}' for p in op.required + optional]
    lines += py_dictionary(entries)
    more = {"json": ", data" if op.takes_bytes else "",
            "tunnel": ", method, path, data, headers"}.get(kind, "")
    call = f"self._{kind}({constant(op)}, given{more})"
    call = "await " + call if begin == "async def" else call
    if kind == "json":
        call = f"t.cast({answers[kind]}, {call})"
    return lines + [f"        return {call}"]


def py_signature(begin, words, end):
    line = begin + ", ".join(words) + end
    if len(line) <= 100:
        return [line]
    indent, lines, row = " " * len(begin), [], begin
    for number, word in enumerate(words):
        piece = word + (", " if number + 1 < len(words) else end)
        if len((row + piece).rstrip()) > 100 and row.strip():
            lines.append(row.rstrip())
            row = indent
        row += piece
    return lines + [row]


def py_dictionary(entries):
    lines, row = [], "        given: t.Dict[str, t.Any] = {"
    for number, entry in enumerate(entries):
        piece = entry + (", " if number + 1 < len(entries) else "")
        if len((row + piece).rstrip()) > 98:
            lines.append(row.rstrip())
            row = "            "
        row += piece
    return lines + [row + "}"]


def constant(op):
    return op.name.replace(".", "_").upper()


def py_table(operations):
    lines = [f'"""The table of operations. {MADE}"""', "", "from ._wire import Op", ""]
    for op in operations:
        told = op.told
        query = tuple(p["name"] for p in told["params"] if p["in"] == "query")
        words = [f'"{told["name"]}"', f'"{told["method"]}"', f'"{told["path"]}"',
                 py_tuple(query), py_tuple(told["flags"])]
        begin = f"{constant(op)} = Op("
        lines += py_signature(begin, words, ")")
    return "\n".join(lines) + "\n"


def py_tuple(words):
    return "(" + ", ".join(f'"{word}"' for word in words) + ("," if len(words) == 1 else "") + ")"


def py_operations(operations, is_async):
    prefix, word = ("Async", "async") if is_async else ("", "sync")
    await_ = "async def" if is_async else "def"
    lines = [f'"""Every operation as a method. {MADE}"""', "", "from __future__ import annotations",
             "", "import typing as t", "", "from . import shapes", "from ._table import (",
             *textwrap.wrap(", ".join(sorted(constant(op) for op in operations)), 96,
                            initial_indent="    ", subsequent_indent="    "),
             ")", "from ._wire import Op", "", "if t.TYPE_CHECKING:",
             f"    from ._{word}_client import {prefix}Events, {prefix}Socket, Data, Reply", "", "",
             f"class {prefix}Operations:",
             '    """One method for each operation; docs/API.md has examples. Arguments that are '
             'None are', '    not sent, and what is empty is left out of answers."""', "",
             f"    {await_} _json(self, op: Op, args: t.Mapping[str, t.Any],",
             f"    {' ' * len(await_)}       data: t.Optional[Data] = None) -> t.Any:",
             "        raise NotImplementedError", "",
             f"    {await_} _text(self, op: Op, args: t.Mapping[str, t.Any]) -> str:",
             "        raise NotImplementedError", "",
             f"    {await_} _bytes(self, op: Op, args: t.Mapping[str, t.Any]) -> bytes:",
             "        raise NotImplementedError", "",
             f"    def _events(self, op: Op, args: t.Mapping[str, t.Any]) -> {prefix}Events:",
             "        raise NotImplementedError", "",
             f"    {await_} _socket(self, op: Op, args: t.Mapping[str, t.Any]) -> {prefix}Socket:",
             "        raise NotImplementedError", "",
             f"    {await_} _tunnel(self, op: Op, args: t.Mapping[str, t.Any], method: str, path: str,",
             f"    {' ' * len(await_)}         data: t.Optional[Data],",
             f"    {' ' * len(await_)}         headers: t.Optional[t.Mapping[str, str]]) -> Reply:",
             "        raise NotImplementedError"]
    for op in operations:
        for suffix, kind in op.kinds():
            lines += [""] + py_method(op, suffix, kind, is_async)
    return "\n".join(lines) + "\n"


# What has to change in code for asyncio to be code without it.
WITHOUT_ASYNC = [
    (r"\basync (def|with|for)\b", r"\1"), (r"\bawait ", ""), (r"__a(enter|exit|iter|next)__", r"__\1__"),
    (r"\baclose\b", "close"), (r"AsyncGenerator\[(\w+), None\]", r"Generator[\1, None, None]"),
    (r"StopAsyncIteration", "StopIteration"), (r"\bAsync(\w+)", r"\1"), (r"_async_", "_sync_"),
    (r"t\.Awaitable\[(None|str)\]", r"\1"),
]


def without_async(path):
    text = path.read_text()
    for pattern, replacement in WITHOUT_ASYNC:
        text = re.sub(pattern, replacement, text)
    return f"# Made by packaging/pages.py from {path.name}: do not edit.\n{text}"


# ---- JavaScript ---------------------------------------------------------------------------------

JS_TYPES = {"text": "string", "int": "number", "bool": "boolean", "choice": "string",
            "number": "number", "time": "string", "size": "number", "int_list": "number[]",
            "text_list": "string[]", "any": "any", "texts": "Record<string, string>",
            "free": "Record<string, any>", "object": "Record<string, any>",
            "list": "Record<string, any>[]", "file": "string | Record<string, any>"}


def js_type(member):
    if "choices" in member:
        return " | ".join(f'"{choice}"' for choice in member["choices"])
    if "shape" in member:
        return camel(member["shape"]) + ("[]" if member["type"] == "list" else "")
    if member.get("members"):
        inner = "; ".join(f"{m['name']}{'' if m['required'] else '?'}: {js_type(m)}"
                          for m in member["members"])
        return "{" + inner + "}" + ("[]" if member["type"] == "list" else "")
    return JS_TYPES[member["type"]]


def js_member(member, is_there):
    kind = js_type(member) + (" | null" if member.get("nullable") else "")
    doc = member["doc"].replace("*/", "*\u200b/")  # which would end the comment
    return f"  /** {doc} */\n  {member['name']}{'' if is_there else '?'}: {kind};"


def js_comment(text):
    lines = textwrap.wrap(text.replace("*/", "*\u200b/"), 92, break_long_words=False)
    if len(lines) == 1:
        return [f"  /** {lines[0]} */"]
    return ["  /**", *(f"   * {line}" for line in lines), "   */"]


def js_method(op, suffix):
    return lower_camel(op.name + suffix)


def js_operations(operations):
    lines = [f"// {MADE}", ""]
    for op in operations:
        told = op.told
        query = [p["name"] for p in told["params"] if p["in"] == "query"]
        def words(names):
            return "[" + ", ".join(f'"{name}"' for name in names) + "]"
        lines += [f"const {constant(op)} = {{", f'  name: "{told["name"]}",',
                  f'  method: "{told["method"]}",', f'  path: "{told["path"]}",',
                  f"  query: {words(query)},", f"  flags: {words(told['flags'])},", "};"]
    lines += ["", "/** One method for each operation: docs/API.md has examples. */",
              "export class Operations {"]
    for op in operations:
        for suffix, kind in op.kinds():
            first = "args" if op.required else "args = {}"
            given = f"{first}, data, options" if op.takes_bytes else f"{first}, options"
            passed = "args, data, options" if op.takes_bytes else "args, options"
            lines += js_comment(op.doc)
            lines += [f"  {js_method(op, suffix)}({given}) {{",
                      f"    return this._{kind}({constant(op)}, {passed});", "  }", ""]
    return "\n".join(lines[:-1] + ["}"]) + "\n"


def js_types(operations, shapes):
    lines = [f"// {MADE}", "",
             'import type { CallOptions, Data, Events, Reply, TunnelOptions, WebSocketLike } from '
             '"./client.js";', "", "// The objects of answers; what is empty is left out.", ""]
    for shape in shapes:
        lines += [f"/** {shape['doc']} */", f"export interface {camel(shape['name'])} {{"]
        lines += [js_member(m, m.get("always")) for m in shape["members"]] + ["}", ""]
    lines += ["// The arguments of operations.", ""]
    for op in operations:
        lines += [f"export interface {camel(op.name)}Args {{"]
        lines += [js_member(p, p["required"]) for p in op.params] + ["}", ""]
    lines += ["/** One method for each operation: docs/API.md has examples. */",
              "export class Operations {"]
    for op in operations:
        for suffix, kind in op.kinds():
            answers = {"json": " | ".join(camel(r) for r in op.results), "text": "string",
                       "bytes": "Uint8Array", "socket": "WebSocketLike", "tunnel": "Reply"}
            answer = "Events" if kind == "events" else f"Promise<{answers.get(kind)}>"
            given = f"args{'' if op.required else '?'}: {camel(op.name)}Args"
            given += ", data: Data" if op.takes_bytes else ""
            options = "TunnelOptions" if kind == "tunnel" else "CallOptions"
            lines += js_comment(op.doc)
            lines += [f"  {js_method(op, suffix)}({given}, options?: {options}): {answer};"]
    return "\n".join(lines + ["}"]) + "\n"


# ---- all of it ----------------------------------------------------------------------------------


def pages(told, shapes):
    operations = [Operation(op) for op in told]
    made = {
        PYTHON / "shapes.py": py_shapes(shapes),
        PYTHON / "_table.py": py_table(operations),
        PYTHON / "_async_operations.py": py_operations(operations, True),
        PYTHON / "_sync_operations.py": py_operations(operations, False),
        JS / "operations.js": js_operations(operations),
        JS / "operations.d.ts": js_types(operations, shapes),
    }
    for name in ("client", "session"):
        made[PYTHON / f"_sync_{name}.py"] = without_async(PYTHON / f"_async_{name}.py")
    return made
