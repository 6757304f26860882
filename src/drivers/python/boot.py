"""Loads the driver as the package `_cella`, out of the reach of user code.

Two things protect it: its modules are never on sys.path, so that a user's `import display` or
`import frames` does not find them; and they run on a copy of the builtins, so that a cell which
deletes or replaces `len` or `print` breaks its own code and not ours.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import os
import sys
import types

PACKAGE = "_cella"
HERE = os.path.dirname(os.path.abspath(__file__))

# In the order in which they build on each other.
MODULES = (
    "jsontext",
    "library",
    "frames",
    "debuggers",
    "interrupts",
    "streams",
    "children",
    "inputs",
    "sources",
    "tracebacks",
    "imports",
    "pictures",
    "formatters",
    "pretty",
    "outputs",
    "tables",
    "plots",
    "displays",
    "shim",
    "ipython",
    "awaits",
    "events",
    "magics_syntax",
    "compiler",
    "completeness",
    "results",
    "exploring",
    "planned",
    "cells",
    "labels",
    "names",
    "copies",
    "completion",
    "inspection",
    "questions",
    "parallel",
    "surroundings",
    "records",
    "packing",
    "rebuild",
    "definitions",
    "handlers",
    "reducing",
    "grouping",
    "declarations",
    "hints",
    "overview",
    "saving",
    "namespaces",
    "saver",
    "loading",
    "scratch",
    "checkpoints",
    "rehearsal",
    "practice",
    "mappings",
    "renewing",
    "waking",
    "magics_table",
    "magics_shell",
    "magics_code",
    "magics_names",
    "magics_trace",
    "magics_world",
    "magics",
    "preload",
    "toolbox",
    "driver",
)


class _PrivateLoader(importlib.machinery.SourceFileLoader):
    """Like the ordinary loader, but the module sees its own builtins."""

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__["__builtins__"] = _BUILTINS
        super().exec_module(module)


_BUILTINS = dict(vars(builtins))


def load() -> types.ModuleType:
    package = types.ModuleType(PACKAGE)
    package.__path__ = []  # a package, but nothing more can be found in it
    sys.modules[PACKAGE] = package
    for name in MODULES:
        setattr(package, name, _load_module(name))
    return package


def _load_module(name: str) -> types.ModuleType:
    full_name = f"{PACKAGE}.{name}"
    path = os.path.join(HERE, name + ".py")
    loader = _PrivateLoader(full_name, path)
    spec = importlib.util.spec_from_file_location(full_name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[full_name] = module
    loader.exec_module(module)
    return module
