# Turns this shell into a session on descriptor 3.
#     /usr/bin/bash --norc --noprofile /cella/bash/main.bash
# The builtin fits one version of bash, and refuses to be loaded into another; then, or if it is not
# there, a program of ours takes over and drives a shell from outside.
if enable -f "${BASH_SOURCE[0]%/*}/cella.so" cella 2>/dev/null; then
    cella
fi
exec "${BASH_SOURCE[0]%/*}/relay" "$BASH" "${BASH_SOURCE[0]%/*}/plain.bash"
