# Turns this shell into a session on descriptor 3.
#     /usr/bin/bash --norc --noprofile /cella/bash/main.bash
# The builtin fits one version of bash and refuses to be loaded into another. Where it cannot be
# loaded, or was not built, there is no session: one frame says why (a length of four bytes, JSON).
# No variable before that: the session would have it.
if enable -f "${BASH_SOURCE[0]%/*}/cella.so" cella 2>/dev/null; then
    cella
fi
if [[ -e ${BASH_SOURCE[0]%/*}/cella.so ]]; then
    why="it is bash ${BASH_VERSION%%(*} and cannot load the builtin, which fits one version: set \`bash:\` \
to that one, or build cella with this one's headers (Debian: bash-builtins)"
else
    why="cella was built without bash's headers: install them (Debian: bash-builtins) and build it again"
fi
LC_ALL=C
frame="{\"ev\":\"fatal\",\"message\":\"$why\"}"
printf -v length '\\x%02x\\x%02x\\x00\\x00' $((${#frame} & 255)) $((${#frame} >> 8))
printf "$length%s" "$frame" >&3
exit 1
