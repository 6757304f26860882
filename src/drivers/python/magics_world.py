"""Magics about the world around the code: directories, the environment, scripts, packages, and what
is shown as HTML or text of another kind."""

from __future__ import annotations

import importlib
import os
import socket
import sys
from typing import Any, Dict, List, Optional, Tuple

from . import formatters, magics_shell, magics_table

_UsageError = magics_table.UsageError
_options = magics_table.options
_words = magics_table.words
_unquoted = magics_table.unquoted

# Commands that answer to their name.
_COMMANDS = {
    "ls": "ls -F", "ll": "ls -F -o", "lf": "ls -F -o | grep ^-", "ldir": "ls -F -o | grep /$",
    "cat": "cat", "cp": "cp", "mv": "mv", "rm": "rm", "mkdir": "mkdir", "rmdir": "rmdir",
}  # fmt: skip


def _register_commands() -> None:
    for name, command in _COMMANDS.items():

        def run(shell: Any, line: str, cell: Optional[str], command: str = command) -> None:
            before, bar, after = command.partition(" |")
            shell.run_command(f"{before} {line}{bar}{after}")

        run.__doc__ = f"%{name} ARGUMENTS: runs `{command}` with them."
        magics_table.line_magic(name)(run)


_register_commands()


@magics_table.line_magic("sx", "system", expands=False)
@magics_table.cell_magic("sx", "system", "!", expands=False)
def _system(shell: Any, line: str, cell: Optional[str]) -> Any:
    """%sx COMMAND: its output as a list of lines, as `!!COMMAND` gives it."""
    return shell.getoutput(line if cell is None else f"{line}\n{cell}".strip())


# Directories and the environment


@magics_table.line_magic("cd")
def _cd(shell: Any, line: str, cell: Optional[str]) -> None:
    """%cd [-q] [DIRECTORY]: the home directory without one, the one before with `-`."""
    text = line.strip()
    is_quiet = text == "-q" or text.startswith("-q ")
    text = _unquoted(text[2:].strip() if is_quiet else text)
    before = _directory()
    if text == "-":
        if not shell.directories:
            raise _UsageError("%cd -: there was no other directory before")
        text = shell.directories[-1]
    os.chdir(os.path.expanduser(text) if text else os.path.expanduser("~"))
    if before:
        del shell.directories[1:-98]  # the first one stays: `_dh[0]`
        shell.directories.append(before)
    if not is_quiet:
        print(os.getcwd())


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


@magics_table.line_magic("pwd")
def _pwd(shell: Any, line: str, cell: Optional[str]) -> str:
    """%pwd: the directory that relative names start from."""
    return os.getcwd()


@magics_table.line_magic("env")
def _env(shell: Any, line: str, cell: Optional[str]) -> Any:
    """%env: the environment; %env NAME: one variable; %env NAME=VALUE or NAME VALUE: sets it."""
    text = line.strip()
    if not text:
        return dict(os.environ)
    if "=" in text or " " in text:
        return _set_env(shell, text, None)
    if text not in os.environ:
        raise _UsageError(f"there is no variable {text} in the environment")
    return os.environ[text]


@magics_table.line_magic("set_env")
def _set_env(shell: Any, line: str, cell: Optional[str]) -> None:
    """%set_env NAME=VALUE or NAME VALUE: sets a variable of the environment."""
    text = line.strip()
    parts = text.split("=" if "=" in text else None, 1)
    if len(parts) != 2 or not parts[0].strip() or any(map(str.isspace, parts[0].strip())):
        raise _UsageError("%set_env wants NAME=VALUE")
    name, value = parts[0].strip(), parts[1].strip()
    os.environ[name] = value
    print(f"env: {name}={value}")


# Scripts


def _register_scripts() -> None:
    for name, argv in (
        ("bash", ("bash",)), ("sh", ("sh",)), ("perl", ("perl",)), ("ruby", ("ruby",)),
        ("node", ("node",)), ("python", ()), ("python3", ()), ("python2", ("python2",)),
    ):  # fmt: skip

        def run(
            shell: Any, line: str, cell: Optional[str], argv: Tuple[str, ...] = argv
        ) -> None:
            _run_script(shell, list(argv) or [sys.executable, "-"], line, cell or "")

        options = "[--out NAME] [--err NAME] [--no-raise-error]"
        run.__doc__ = f"%%{name} {options}: runs the cell with it."
        magics_table.cell_magic(name)(run)


_register_scripts()


@magics_table.cell_magic("script")
def _script(shell: Any, line: str, cell: Optional[str]) -> None:
    """%%script [--out NAME] [--err NAME] [--no-raise-error] PROGRAM: runs the cell with it."""
    _run_script(shell, [], line, cell or "")


def _run_script(shell: Any, argv: List[str], line: str, body: str) -> None:
    into: Dict[str, str] = {}
    is_raised = True
    words = _words(line)
    argv = list(argv)
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if name in ("--out", "--err"):
            if not equals and not words:
                raise _UsageError(f"{name} wants the name of a variable")
            into[name] = value if equals else words.pop(0)
        elif name in ("--bg", "--proc"):
            raise _UsageError(f"there is no {name} here; end a command with & instead")
        elif name in ("--no-raise-error", "--raise-error"):
            is_raised = name == "--raise-error"
        else:
            argv.append(word)
    if not argv:
        raise _UsageError("%%script wants the name of a program")
    body = body if body.endswith("\n") or not body else body + "\n"
    code = _run_into(shell, argv, body, into)
    shell.note_status(code)
    if code and is_raised:
        import subprocess

        raise subprocess.CalledProcessError(code, " ".join(argv))


def _run_into(shell: Any, argv: List[str], body: str, into: Dict[str, str]) -> int:
    try:
        if "--out" not in into and "--err" not in into:
            return int(shell.commands.run(argv, body))
        out: List[str] = []
        err: List[str] = []
        to_out = out.append if "--out" in into else magics_shell.writer(sys.stdout)
        to_err = err.append if "--err" in into else magics_shell.writer(sys.stderr)
        try:
            return int(shell.commands.run_with(argv, body, to_out, to_err))
        finally:
            for option, parts in (("--out", out), ("--err", err)):
                if option in into:
                    shell.user_ns[into[option]] = "".join(parts)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no program {argv[0]!r} here") from None


# Shown as what it is


def _register_shown() -> None:
    for names, kind, shown in (
        (("html", "HTML"), "text/html", "HTML"), (("markdown",), "text/markdown", "Markdown"),
        (("latex",), "text/latex", "Latex"), (("svg", "SVG"), "image/svg+xml", "SVG"),
        (("javascript", "js"), "application/javascript", "Javascript"),
    ):  # fmt: skip
        text = f"<IPython.core.display.{shown} object>"

        def show(
            shell: Any, line: str, cell: Optional[str], kind: str = kind, text: str = text
        ) -> None:
            shell.show_bundle({kind: cell or "", "text/plain": text})

        show.__doc__ = f"%%{names[0]}: shows the cell as {kind}."
        magics_table.cell_magic(*names)(show)


_register_shown()


# Packages


# Options of pip that say where to install.
_PLACES = ("-t", "--target", "--prefix", "--root", "--user")


@magics_table.line_magic("pip")
def _pip(shell: Any, line: str, cell: Optional[str]) -> None:
    """%pip ARGUMENTS: runs pip. What it installs goes into the home directory, and can be imported
    at once."""
    words = _words(line)
    place = packages_directory()
    is_alone = not _has_network()
    extra = {
        "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_BREAK_SYSTEM_PACKAGES": "1",
        "PIP_ROOT_USER_ACTION": "ignore", "PIP_NO_CACHE_DIR": "1", "PIP_PROGRESS_BAR": "off",
    }  # fmt: skip
    if is_alone:
        extra["PIP_RETRIES"] = "0"
    extra["PYTHONUSERBASE"] = _base()
    if words[:1] == ["install"] and not any(word.startswith(_PLACES) for word in words):
        extra.update({"PIP_TARGET": place} if _is_virtual() else {"PIP_USER": "1"})
    code = _with_environment(
        extra, lambda: shell.commands.run([sys.executable, "-m", "pip", *words])
    )
    shell.note_status(code)
    if os.path.isdir(place):
        _make_importable(place)
    if code and is_alone and words[:1] in (["install"], ["download"]):
        print(
            "Note: this session has no network, so pip cannot download anything. It can install "
            "wheels that are files in the session: %pip install --no-index ./NAME.whl",
            file=sys.stderr,
        )


@magics_table.line_magic("conda", "mamba", "micromamba")
def _conda(shell: Any, line: str, cell: Optional[str]) -> None:
    """%conda ARGUMENTS: runs conda, if there is one."""
    try:
        shell.note_status(shell.commands.run(["conda", *_words(line)]))
    except FileNotFoundError:
        raise _UsageError("there is no conda here; %pip installs packages") from None


def _base() -> str:
    return os.path.join(os.path.expanduser("~"), ".local")


def packages_directory() -> str:
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    return os.path.join(_base(), "lib", version, "site-packages")


def _is_virtual() -> bool:
    return sys.prefix != sys.base_prefix


def _make_importable(place: str) -> None:
    """Where a user's own packages stand: before those of the system."""
    if place not in sys.path:
        behind = [at for at, path in enumerate(sys.path) if str(path).endswith("-packages")]
        sys.path.insert(behind[0] if behind else len(sys.path), place)
    importlib.invalidate_caches()


def _has_network() -> bool:
    """Is there a way out? A datagram socket that is connected sends nothing."""
    for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((address, 9))
                return True
        except OSError:
            continue
    return False


def _with_environment(extra: Dict[str, str], run: Any) -> Any:
    before = {name: os.environ.get(name) for name in extra}
    os.environ.update({name: value for name, value in extra.items() if before[name] is None})
    try:
        return run()
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)


# Habits that mean nothing here, or little


@magics_table.line_magic("matplotlib")
def _matplotlib(shell: Any, line: str, cell: Optional[str]) -> None:
    """%matplotlib [inline]: accepted. Figures are shown as images, whatever the backend."""
    found, kind = _options(line.replace("--list", "-l"), "l")
    if "l" in found:
        print("Available matplotlib backends: ['inline']")
    elif kind not in ("", "inline", "agg", "auto", "notebook", "widget", "ipympl"):
        print(f"%matplotlib {kind}: there are no windows here; figures are shown as images.")


@magics_table.line_magic("pylab")
def _pylab(shell: Any, line: str, cell: Optional[str]) -> None:
    """%pylab: numpy as np, matplotlib.pyplot as plt, and all names of both."""
    shell.run_text("import numpy, matplotlib\nimport matplotlib.pyplot as plt\nimport numpy as np")
    if "--no-import-all" not in line:
        shell.run_text("from pylab import *\nfrom numpy import *")


@magics_table.line_magic("precision")
def _precision(shell: Any, line: str, cell: Optional[str]) -> str:
    """%precision [DIGITS | FORMAT]: how floats are shown, and how many digits numpy prints;
    returns the format."""
    text = line.strip()
    try:
        form = formatters.PLAIN.set_precision(text)
    except (TypeError, ValueError) as error:
        raise _UsageError(f"%precision wants a number of digits or a format: {error}") from None
    numpy = sys.modules.get("numpy")
    if numpy is not None and (text == "" or text.isdigit()):
        numpy.set_printoptions(precision=int(text) if text else 8)
    return form


@magics_table.line_magic("config", expands=False)
def _config(shell: Any, line: str, cell: Optional[str]) -> None:
    """%config InlineBackend.figure_format = 'png' | 'retina' | 'svg': how figures are shown. Other
    settings are accepted, without effect."""
    name, equals, value = line.partition("=")
    name = name.strip()
    if name not in ("InlineBackend.figure_format", "InlineBackend.figure_formats"):
        return
    try:
        wanted = shell.ev(value.strip()) if equals else "png"
        shell.set_figure_format(wanted)
    except (NameError, SyntaxError, TypeError) as error:
        raise _UsageError(f"%config {name} wants 'png', 'retina' or 'svg': {error}") from None


@magics_table.line_magic(
    "xmode", "colors", "doctest_mode", "automagic", "gui", "pprint", "logstart", "logstop",
    "autosave", "autoawait", "autocall", "rehashx"
)
def _accept(shell: Any, line: str, cell: Optional[str]) -> None:
    """Accepted, without effect."""


@magics_table.line_magic("debug", "pdb")
def _debug(shell: Any, line: str, cell: Optional[str]) -> None:
    """There is no debugger for failures; `breakpoint()` in a cell works."""
    raise _UsageError("there is no %debug here; put breakpoint() where the code is to stop")


@magics_table.line_magic("load_ext", "reload_ext")
def _load_ext(shell: Any, line: str, cell: Optional[str]) -> None:
    """%load_ext MODULE: lets a module add magics by its load_ipython_extension()."""
    name = line.strip()
    if not name:
        raise _UsageError("%load_ext wants the name of a module")
    if name in ("autoreload", "IPython.extensions.autoreload"):
        return
    module = importlib.import_module(name)
    load = getattr(module, "load_ipython_extension", None)
    if load is None:
        print(f"The {name} module is not an IPython extension.")
        return
    load(shell)


@magics_table.line_magic("unload_ext")
def _unload_ext(shell: Any, line: str, cell: Optional[str]) -> None:
    """%unload_ext MODULE: calls its unload_ipython_extension()."""
    unload = getattr(sys.modules.get(line.strip()), "unload_ipython_extension", None)
    if unload is not None:
        unload(shell)
