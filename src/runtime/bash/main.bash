# Turns this shell into a session on descriptor 3.
#     /usr/bin/bash --norc --noprofile /cella/bash/main.bash
enable -f "${BASH_SOURCE[0]%/*}/cella.so" cella
cella
