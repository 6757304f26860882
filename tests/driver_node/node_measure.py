"""What one cell costs in the driver: `python3 node_measure.py [NODE]`, as tests/driver/measure.py
does for Python."""

from __future__ import annotations

import sys

import conftest
from measure import measure
from node_peer import NodePeer

CELLS = {
    "1+1": "1+1",
    "log": "console.log('x')",
    "object": "({ a: [1, 2, { b: 3 }] })",
    "await": "await 5",
    "throw": "null.x",
}


def main() -> None:
    node = sys.argv[1] if len(sys.argv) > 1 else "node"
    with conftest.built_image() as image:
        peer = NodePeer.begin_session(node, image)
        peer.sock.settimeout(None)
        print(f"{'cell':12} {'p50 us':>8} {'p99 us':>8} {'driver CPU us':>14}")
        for name, code in CELLS.items():
            times, cpu = measure(peer, code)
            p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
            print(f"{name:12} {p50 * 1e6:8.1f} {p99 * 1e6:8.1f} {cpu * 1e6:14.1f}")
        peer.close()


if __name__ == "__main__":
    main()
