#!/bin/sh
# mcp_peers.sh [DIR]: installs the clients of the Model Context Protocol that tests/mcp drives, once,
# at the versions in packaging/mcp_peers: from npm a Node.js that is new enough, the official
# TypeScript clients, the conformance suite, the Inspector, a tokenizer and the reference
# implementation of TOON (tests/toon); from PyPI the Python SDK. Prints where they are. Without the
# registries it fails and says so.
set -eu
here=$(dirname "$(readlink -f "$0")")/mcp_peers
dir=${1:-${CELLA_MCP_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/cella-mcp-peers}}
wanted=$(cat "$here/package.json" "$here/package-lock.json" "$here/requirements.txt" | sha256sum)
log=$dir/install.log

mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9
if [ "$(cat "$dir/installed" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$dir/installed" "$dir/node_modules" "$dir/python"
    cp "$here/package.json" "$here/package-lock.json" "$dir"
    if ! { npm install --no-save --prefix "$dir" --no-audit --no-fund &&
        /usr/bin/python3 -m venv "$dir/python" &&
        "$dir/python/bin/pip" install --disable-pip-version-check --timeout 20 \
            -r "$here/requirements.txt"; } >"$log" 2>&1; then
        tail -5 "$log" >&2
        echo "mcp_peers.sh: the MCP clients could not be installed from npm and PyPI ($log)." >&2
        echo "They need npm, python3-venv and the registries; later runs need neither." >&2
        exit 1
    fi
    echo "$wanted" >"$dir/installed"
fi
echo "$dir"
