#!/bin/sh
# deps.sh GROUP...: makes sure that the Debian packages of these groups are installed. If they all
# are, nothing but the package database is read; else they are installed as root or with sudo.
set -eu

# "a|b": either will do, the last one is installed.
packages_of() {
    case $1 in
    build) echo gcc libc6-dev meson ninja-build pkgconf libuv1-dev node-llhttp libjansson-dev \
        libb2-dev libyaml-dev libseccomp-dev libsqlite3-dev libedit-dev bash-builtins \
        libmd4c-dev libmd4c-html0-dev libpcre2-dev libpng-dev libjpeg-dev libssl-dev \
        libarchive-dev libcurl4-openssl-dev ;;
    data) echo bash nodejs python3 python3-numpy python3-pandas python3-scipy python3-sklearn \
        python3-statsmodels python3-matplotlib python3-seaborn \
        python3-cloudpickle python3-lz4 python3-openpyxl \
        'libopenblas-dev|libopenblas0-pthread' uidmap \
        'libarchive13t64|libarchive13' 'libcurl4t64|libcurl4' poppler-utils ;;
    test) echo clang 'libclang-rt-14-dev|libclang-rt-dev' clang-format libcmocka-dev \
        python3-pytest util-linux e2fsprogs curl bash gdb strace python3-pip \
        python3-nbformat jupyter-nbconvert \
        man-db groff zsh fish python3-psutil python3-ipython python3-venv python3-yaml
        # Some packages of Node.js bring npm along, and then Debian's cannot be installed.
        command -v npm >/dev/null || echo npm ;;
    bench) echo ripgrep python3-ipykernel python3-jupyter-client bubblewrap \
        python3-venv ;;
    *)
        echo "deps.sh: no group \"$1\" (build, data, test, bench)" >&2
        exit 2
        ;;
    esac
}

wanted=
for group in "$@"; do
    wanted="$wanted $(packages_of "$group")"
done

if ! command -v dpkg-query >/dev/null; then
    echo "deps.sh: this is not a Debian system; what is needed there is called:$wanted" >&2
    exit 0
fi

# One question about all of them answers the usual case.
all=$(echo "$wanted" | tr ' |' '\n\n')
# shellcheck disable=SC2086
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $all 2>/dev/null |
    sed -n 's/ installed$//p' | tr '\n' ' ' || true)
missing=
for entry in $wanted; do
    found=
    for name in $(echo "$entry" | tr '|' ' '); do
        case " $installed " in *" $name "*) found=1 ;; esac
    done
    [ -n "$found" ] || missing="$missing ${entry##*|}"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null; then
    as_root=sudo
else
    echo "These Debian packages are missing:$missing" >&2
    echo "Run this as root, install sudo, or install them yourself:" >&2
    echo "  apt-get install --no-install-recommends$missing" >&2
    exit 1
fi

echo "Installing:$missing"
$as_root apt-get update -q
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
