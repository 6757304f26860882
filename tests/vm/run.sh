#!/bin/sh
# Runs tests in a virtual machine with Debian's own kernel and cgroup v2, whatever this host has.
#
#   tests/vm/run.sh [COMMAND...]      COMMAND defaults to `python3 tests/vm/guest.py`
#
# The machine's root is this host's, read-only, with its changes kept in memory. CELLA names the
# program under test (build/cella), VM_CACHE where kernel and boot image are kept, VM_SECONDS how
# long the machine may run.
set -eu

source_dir=$(cd "$(dirname "$0")/../.." && pwd)
cella=${CELLA:-$source_dir/build/cella}
cache=${VM_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/cella-vm}
seconds=${VM_SECONDS:-300}
modules="virtio_pci 9pnet_virtio 9p overlay"

install_missing() {
    missing=
    command -v qemu-system-x86_64 >/dev/null || missing="$missing qemu-system-x86"
    command -v cpio >/dev/null || missing="$missing cpio"
    command -v busybox >/dev/null || missing="$missing busybox-static"
    command -v modprobe >/dev/null || missing="$missing kmod"
    [ -z "$missing" ] || apt-get install -y --no-install-recommends $missing
}

# Unpacked, not installed: this host goes on booting what it boots.
fetch_kernel() {
    package=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9]\)/\1/p')
    version=${package#linux-image-}
    kernel=$cache/$package/boot/vmlinuz-$version
    [ ! -f "$kernel" ] || return 0
    mkdir -p "$cache/$package"
    (cd "$cache" && apt-get download -q "$package" && dpkg -x "$package"_*.deb "$package" &&
        rm -f "$package"_*.deb)
    depmod -b "$cache/$package" "$version"
}

build_boot_image() {
    root=$cache/root
    rm -rf "$root"
    mkdir -p "$root/bin" "$root/modules"
    cp "$(command -v busybox)" "$root/bin/busybox"
    cp "$source_dir/tests/vm/init.sh" "$root/init"
    cp "$cella" "$root/cella"
    for module in $modules; do
        modprobe -d "$cache/$package" -S "$version" --show-depends "$module"
    done | awk '!seen[$2]++ { print $2 }' >"$root/modules/paths"
    while read -r path; do
        cp "$path" "$root/modules/"
        basename "$path"
    done <"$root/modules/paths" >"$root/modules/order"
    echo "$source_dir" >"$root/source"
    [ $# -gt 0 ] || set -- python3 tests/vm/guest.py
    printf '%s\n' "$*" >"$root/command"
    (cd "$root" && find . | cpio -o -H newc --quiet) >"$cache/boot.cpio"
}

# KVM only if asked for: where this host is itself a virtual machine it may hang.
run_machine() {
    accel="-accel tcg -cpu max"
    [ "${VM_KVM:-no}" = no ] || accel="-accel kvm -cpu host"
    timeout "$seconds" qemu-system-x86_64 $accel -smp 1 -m 1536 -display none -no-reboot \
        -monitor none -serial stdio -nic none \
        -kernel "$kernel" -initrd "$cache/boot.cpio" \
        -append "console=ttyS0 quiet panic=-1 cgroup_no_v1=all random.trust_cpu=on" \
        -fsdev local,id=host,path=/,readonly=on,security_model=none,multidevs=remap \
        -device virtio-9p-pci,fsdev=host,mount_tag=host </dev/null
}

install_missing
fetch_kernel
build_boot_image "$@"
log=$cache/last.log
run_machine | tr -d '\r' | tee "$log"
grep -q '^VM: exit status 0$' "$log"
