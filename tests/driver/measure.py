"""What one cell costs in the driver: `python3 measure.py [PYTHON]`. Wall time of the whole round
trip as this peer sees it, and the CPU time that the session itself used."""

from __future__ import annotations

import array
import json
import os
import socket
import sys
import time

from peer import Peer

CELLS = {
    "1+1": "1+1",
    "print('x')": "print('x')",
    "20 lines": "\n".join(f"value_{n} = [item * {n} for item in range(5)]" for n in range(19))
    + "\nsum(value_3)",
    "1/0": "1/0",
}
NAMESPACES = (0, 20, 200, 1000)  # names, half of which can grow
WARM, RUNS = 500, 3000


def measure(peer: Peer, code: str, names: str = "none") -> tuple[list[float], float]:
    clock = (~peer.pid << 3) | 2  # the CPU clock of that process
    sock, times = peer.sock, []
    for number in range(WARM + RUNS):
        if number == WARM:
            cpu = time.clock_gettime(clock)
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        payload = b'{"op":"exec","id":%d,"code":%s,"names":"%s"}' % (
            number + 1, _quote(code), names.encode()
        )  # fmt: skip
        data = len(payload).to_bytes(4, "little") + payload
        fds = array.array("i", (out_write, err_write))
        began = time.perf_counter()
        sock.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        sock.recv(65536)
        times.append(time.perf_counter() - began)
        for fd in (out_read, out_write, err_read, err_write):
            os.close(fd)
    return sorted(times[WARM:]), (time.clock_gettime(clock) - cpu) / RUNS


def _quote(code: str) -> bytes:
    return json.dumps(code).encode()


def _show(title: str, measured: tuple[list[float], float]) -> None:
    times, cpu = measured
    p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
    print(f"{title:24} {p50 * 1e6:8.1f} {p99 * 1e6:8.1f} {cpu * 1e6:14.1f}")


def main() -> None:
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    peer = Peer.start(python)
    peer.sock.settimeout(None)
    print(f"{'cell':24} {'p50 us':>8} {'p99 us':>8} {'driver CPU us':>14}")
    for name, code in CELLS.items():
        _show(name, measure(peer, code))
    _show("20 lines, changes", measure(peer, CELLS["20 lines"], "changes"))
    peer.run("globals().clear()")
    for count in NAMESPACES:
        peer.run(f"for n in range({count}): globals()[f'n{{n}}'] = [n] if n % 2 else n + 1000")
        for names in ("changes", "full"):
            _show(f"1+1, {count} names, {names}", measure(peer, "1+1", names))
    peer.close()


if __name__ == "__main__":
    main()
