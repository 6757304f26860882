"""What one cell costs in the driver, and how long a shell takes to start:
`CELLA=build/cella python3 measure.py`. Wall time of the whole round trip as this peer sees it, and
the CPU time that the session itself used."""

from __future__ import annotations

import array
import json
import os
import pathlib
import shutil
import socket
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests" / "driver")]

from shell import Shell  # noqa: E402

BUILD = pathlib.Path(os.environ.get("CELLA", TOP / "build" / "cella")).absolute().parent
CELLS = {":": ":", "echo x": "echo x", "x=$((x+1))": "x=$((x+1))", "/bin/true": "/bin/true"}
WARM, RUNS = 300, 3000


def measure(shell: Shell, code: str, runs: int) -> "tuple[list[float], float]":
    clock = (~shell.pid << 3) | 2  # the CPU clock of that process
    times = []
    cpu = 0.0
    for number in range(WARM + runs):
        if number == WARM:
            cpu = time.clock_gettime(clock)
        out, err = os.pipe(), os.pipe()
        payload = json.dumps({"op": "exec", "id": number + 1, "code": code}).encode()
        data = len(payload).to_bytes(4, "little") + payload
        fds = array.array("i", (out[1], err[1]))
        began = time.perf_counter()
        shell.sock.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        shell.sock.recv(65536)
        times.append(time.perf_counter() - began)
        for fd in out + err:
            os.close(fd)
    return sorted(times[WARM:]), (time.clock_gettime(clock) - cpu) / runs


def start_times(driver: pathlib.Path) -> "list[float]":
    times = []
    for _ in range(50):
        began = time.perf_counter()
        shell = Shell.start(driver, driver)
        times.append(time.perf_counter() - began)
        shell.close()
    return sorted(times)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        driver = pathlib.Path(name)
        shutil.copy(TOP / "src/drivers/bash/main.bash", driver)
        shutil.copy(BUILD / "src/drivers/bash/cella_bash.so", driver / "cella.so")
        print(f"start to ready: p50 {start_times(driver)[25] * 1e3:.1f} ms (with this peer's fork)")
        shell = Shell.start(driver, driver)
        shell.sock.settimeout(None)
        print(f"{'cell':12} {'p50 us':>8} {'p99 us':>8} {'driver CPU us':>14}")
        for cell, code in CELLS.items():
            times, cpu = measure(shell, code, RUNS if cell[0] != "/" else RUNS // 10)
            p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
            print(f"{cell:12} {p50 * 1e6:8.1f} {p99 * 1e6:8.1f} {cpu * 1e6:14.1f}")
        shell.close()


if __name__ == "__main__":
    main()
