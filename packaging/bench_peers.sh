#!/bin/sh
# bench_peers.sh DIR: installs the peers of `make bench` that Debian does not have into a virtual
# environment there. If that cannot be done (no pip, no network), bench notes that they were not
# measured; nothing fails.
set -u
dir=$1
posit="posit-mcp-repl==0.3.0"

[ -x "$dir/bin/posit-mcp-repl" ] && exit 0
log="$dir.log"
if /usr/bin/python3 -m venv "$dir" >"$log" 2>&1 &&
    "$dir/bin/pip" install -q --disable-pip-version-check --retries 1 --timeout 10 \
        "$posit" >>"$log" 2>&1; then
    exit 0
fi
echo "$posit could not be installed and is not measured ($log)" >&2
exit 0
