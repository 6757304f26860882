#!/bin/sh
# `cella` of the wheel and of the npm package: starts the program beside it, and says which libraries
# the system lacks, and which Debian packages have them.
here=$(dirname -- "$(readlink -f -- "$0")")
program=$here/../lib/cella/cella
missing=$(LD_TRACE_LOADED_OBJECTS=1 "$program" 2>/dev/null | sed -n 's/^[[:space:]]*\([^ ]*\) => not found$/\1/p')
[ -z "$missing" ] && exec "$program" "$@"
packages=
for library in $missing; do
    case $library in
    libuv.so.1) packages="$packages libuv1" ;;
    libjansson.so.4) packages="$packages libjansson4" ;;
    libyaml-0.so.2) packages="$packages libyaml-0-2" ;;
    libseccomp.so.2) packages="$packages libseccomp2" ;;
    libb2.so.1) packages="$packages libb2-1" ;;
    libjpeg.so.62) packages="$packages libjpeg62-turbo" ;;
    libpng16.so.16) packages="$packages libpng16-16" ;;
    libsqlite3.so.0) packages="$packages libsqlite3-0" ;;
    libmd4c*.so.0) packages="$packages libmd4c-html0" ;;
    libedit.so.2) packages="$packages libedit2" ;;
    libcrypto.so.3) packages="$packages libssl3" ;;
    libpcre2-8.so.0) packages="$packages libpcre2-8-0" ;;
    *) packages="$packages $library" ;;
    esac
done
echo "cella: these libraries are missing:" $missing >&2
echo "On Debian: apt-get install$packages" >&2
exit 69
