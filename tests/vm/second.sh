# Pid 1 of the test machine once its root is in place.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
export CELLA=/run/bin/cella
cd /run/source
sh /run/command
echo "VM: exit status $?"
exec /run/bin/busybox poweroff -f
