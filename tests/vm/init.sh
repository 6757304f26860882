#!/bin/busybox sh
# Pid 1 of the test machine: the host's files below, memory above, cgroup v2 with everything.
/bin/busybox --install -s /bin
mkdir -p /proc /sys /lower /upper /root
mount -t proc proc /proc
mount -t sysfs sys /sys
while read -r module; do
    insmod "/modules/$module" || echo "VM: no module $module"
done </modules/order
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=512000 host /lower || poweroff -f
mount -t tmpfs -o mode=755 upper /upper
mkdir /upper/changes /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/changes,workdir=/upper/work root /root ||
    poweroff -f
mount -t proc proc /root/proc
mount -t sysfs sys /root/sys
mount -t devtmpfs dev /root/dev
mkdir -p /root/dev/shm
mount -t tmpfs -o mode=1777 tmp /root/tmp
mount -t tmpfs -o mode=1777 tmp /root/var/tmp
mount -t tmpfs -o mode=755 run /root/run
mount -t cgroup2 -o nsdelegate cgroup2 /root/sys/fs/cgroup
# In /tmp nothing of the host's is seen, and the sources may be there.
mkdir /root/run/source /root/run/bin
mount --bind "/lower$(cat /source)" /root/run/source
cp /cella /bin/busybox /root/run/bin/
cp /command /root/run/command
ip link set lo up
echo "VM: $(uname -r), controllers: $(cat /root/sys/fs/cgroup/cgroup.controllers)"
# Not chroot: whoever is in one may not make a user namespace.
exec switch_root /root /bin/sh /run/source/tests/vm/second.sh
