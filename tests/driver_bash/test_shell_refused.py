"""A shell that cannot load the builtin says why, and what to do about it, and ends."""

from __future__ import annotations

import pathlib
import shutil

import pytest
from shell import Shell

TOP = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "builtin, why",
    [(None, "cella was built without bash's headers"), (b"for another bash", "fits one version")],
)
def test_it_ends_with_advice(tmp_path: pathlib.Path, builtin: "bytes | None", why: str) -> None:
    shutil.copy(TOP / "src/drivers/bash/main.bash", tmp_path)
    if builtin is not None:
        (tmp_path / "cella.so").write_bytes(builtin)
    shell = Shell.launch(tmp_path, tmp_path)
    answer = shell.receive()
    shell.close()
    assert answer["ev"] == "fatal" and why in answer["message"]
    assert "Debian: bash-builtins" in answer["message"]
    assert len(answer["message"]) < 220, "what a certificate has room for"
    assert shell.process.returncode == 1
