#!/usr/bin/python3
"""Makes what people install: a wheel for pip and uv, and a package for npm. Both have a client and
the program.

    python3 packaging/dist.py PROGRAM [FOLDER]     into dist/ unless a folder is named

A wheel is a zip with a list of its files, and a package of npm a tar: nothing else is needed. The
same sources give the same bytes.
"""

import base64
import gzip
import hashlib
import io
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

TOP = pathlib.Path(__file__).resolve().parent.parent
PYTHON, JS = TOP / "clients/python", TOP / "clients/js"
SINCE = (1980, 1, 1, 0, 0, 0)  # the first time that a zip can have
NODE_CPUS = {"x86_64": "x64", "aarch64": "arm64"}


def version():
    return re.search(r"version: '([^']+)'", (TOP / "meson.build").read_text())[1]


def stripped(program):
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["strip", "-o", out.name, program], check=True)
        return pathlib.Path(out.name).read_bytes()


def glibc(program):
    """The newest symbols of glibc that the program uses: (2, 36). Older ones cannot run it."""
    found = re.findall(rb"GLIBC_(\d+)\.(\d+)", program)
    return max((int(major), int(minor)) for major, minor in found)


def client_files(folder, patterns):
    return {path.relative_to(folder): path.read_bytes()
            for pattern in patterns for path in sorted(folder.glob(pattern))}


# ---- the wheel ----------------------------------------------------------------------------------


def metadata():
    return f"""\
Metadata-Version: 2.1
Name: cella
Version: {version()}
Summary: Live, undoable, sandboxed sessions of Python, Node.js and bash
License: MIT
Requires-Python: >=3.9
Provides-Extra: smolagents
Requires-Dist: smolagents>=1.20; extra == "smolagents"
Provides-Extra: langchain
Requires-Dist: langchain-core>=0.3; extra == "langchain"
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{(PYTHON / "README.md").read_text()}"""


def wheel_files(program, tag):
    """{name: (bytes, is it a program)}"""
    info, data = f"cella-{version()}.dist-info", f"cella-{version()}.data"
    files = {str(name): (content, False) for name, content
             in client_files(PYTHON, ["cella/*.py", "cella/py.typed"]).items()}
    # The program itself is no script: pip would not keep it apart from the one that starts it.
    files[f"{data}/data/lib/cella/cella"] = (program, True)
    files[f"{data}/scripts/cella"] = ((TOP / "packaging/start.sh").read_bytes(), True)
    files[f"{data}/data/share/man/man1/cella.1"] = ((TOP / "docs/man/cella.1").read_bytes(), False)
    files[f"{info}/METADATA"] = (metadata().encode(), False)
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: cella\nRoot-Is-Purelib: false\n"
                              f"Tag: {tag}\n".encode(), False)
    files[f"{info}/licenses/LICENSE"] = ((TOP / "LICENSE").read_bytes(), False)
    record = "".join(f"{name},sha256={digest(content)},{len(content)}\n"
                     for name, (content, _) in files.items())
    files[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), False)
    return files


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def make_wheel(program, folder):
    # pip refuses this tag where glibc is older or there is none; what else is needed is told when
    # the program starts (packaging/start.sh).
    major, minor = glibc(program)
    tag = f"py3-none-manylinux_{major}_{minor}_{platform.machine()}"
    path = folder / f"cella-{version()}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, (content, is_program) in wheel_files(program, tag).items():
            entry = zipfile.ZipInfo(name, SINCE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            wheel.writestr(entry, content)
    return path


# ---- the package of npm -------------------------------------------------------------------------


def manifest():
    told = json.loads((JS / "package.json").read_text())
    told["version"] = version()
    told["files"] += ["bin", "lib"]
    told["bin"] = {"cella": "bin/cella"}
    told["os"], told["cpu"] = ["linux"], [NODE_CPUS.get(platform.machine(), platform.machine())]
    told["libc"] = ["glibc"]
    return json.dumps(told, indent=2).encode() + b"\n"


def make_npm(program, folder):
    files = {name: (content, False) for name, content
             in client_files(JS, ["src/*.js", "src/*.d.ts", "README.md"]).items()}
    files["package.json"] = (manifest(), False)
    files["LICENSE"] = ((TOP / "LICENSE").read_bytes(), False)
    files["bin/cella"] = ((TOP / "packaging/start.sh").read_bytes(), True)
    files["lib/cella/cella"] = (program, True)
    path = folder / f"cella-{version()}.tgz"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (content, is_program) in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(content), 0o755 if is_program else 0o644
            archive.addfile(entry, io.BytesIO(content))
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return path


def main(args):
    if not 1 <= len(args) <= 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(args[1] if len(args) == 2 else TOP / "dist")
    folder.mkdir(parents=True, exist_ok=True)
    program = stripped(args[0])
    for path in (make_wheel(program, folder), make_npm(program, folder)):
        print(f"{os.path.relpath(path)}  {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
