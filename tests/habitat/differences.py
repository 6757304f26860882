"""What differs from a plain Linux, by name. docs/SANDBOX.md is made from this (sandbox_page.py);
each case of the table that shows a difference names it.

ALIKE are differences that the cases' outputs may have: what stands for the other on both sides.
CLOSED are things that a session does otherwise on purpose: the cases that name them must differ, so
that nobody forgets to strike out what is open by now."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    title: str
    text: str
    patterns: tuple = ()  # (regular expression, what stands for it)

    def hide(self, text):
        for pattern, instead in self.patterns:
            text = re.sub(pattern, instead, text, flags=re.M)
        return text


ALIKE = {
    "size of the disk": Difference(
        "The size of the disk",
        "`df` and `statvfs` tell of the file system that the host keeps `/workspace` on, not of "
        "the session's limit `disk_mb`: nobody but that file system can answer. Limits for single "
        "folders (project quotas) are the host's to set up, and answering in its place would hold "
        "up every `find` and `rm -r`, which ask for each folder. `ulimit -f` is the limit (in "
        "KiB), `du -s /workspace` what is used; `/tmp` and `/dev/shm` do tell their own size."),
    "who": Difference(
        "One user",
        "A session is the user `cella`, uid and gid 1000, without further groups; its home is "
        "`/workspace`. Besides it there are the names `root` and `nobody`, who own what is not the "
        "session's.",
        ((r"\bcella(-[ts]\d+-\d+)?\b", "USER"), (r"\b(uid|gid|groups)=\d+", r"\1=N"))),
    "host name": Difference(
        "The host's name", "Every session's host is called `cella`.", ((r"^\S+$", "HOST"),)),
    "times": Difference("", "", ((r"\d+\.\d+|\d+(?= ms)", "TIME"),)),
    "process numbers": Difference(
        "Process numbers",
        "A session has its own, from 1 on, and sees no process of anybody else's. Number 1, which "
        "ends the session, is not shown either: the interpreter has no parent, and "
        "`psutil.Process(1)` does not exist.",
        ((r"(line \d+:) +\d+", r"\1 PID"),)),
    "controlling terminal": Difference(
        "The interpreter leads its session",
        "Code of a cell that opens a terminal without `O_NOCTTY` makes it the interpreter's own, "
        "which then ends with it (SIGHUP) and comes back from its last checkpoint. `pty`, pexpect "
        "and programs that a cell starts do not do that."),
    "loopback only": Difference(
        "No address but the loopback's",
        "`getaddrinfo` with `AI_ADDRCONFIG` and one family (`AF_INET`) finds nothing then, not "
        "even `127.0.0.1`, as on any machine without a network; without that flag, or for both "
        "families, it does. There are no link-local addresses."),
    "no main file": Difference(
        "A cell is no script", "`__main__` has no `__file__`, as at Python's prompt."),
    "libraries in memory": Difference(
        "Where libraries lie in memory",
        "The code of a large profile's libraries (`data`) is copied to memory of the session's "
        "template, so that sessions start and are copied sooner: `/proc/self/maps` names the "
        "program and the largest libraries, and constants of the others could be written to. "
        "`dladdr`, debuggers and tracebacks know all of them."),
    "limits": Difference("", "", ((r"\d{4,}$", "LIMIT"),)),
}

CLOSED = {
    "limits": Difference(
        "Limits",
        "No core files, locked memory or message queues beyond a little, no real-time priority. At "
        "most 1024 descriptors unless asked for more, up to 4096 (`ulimit -n`); files no larger "
        "than the session's disk. Processes, memory and processor time as the session's limits "
        "say. Limits of a process that is named by its number, even the caller's own, can be read "
        "and not set."),
    "other users": Difference(
        "Other users do not exist",
        "Only uid and gid 1000 and no other can own a file or run a process. `chown`, `setuid` and "
        "their kin to somebody else say `EINVAL` where an ordinary user elsewhere is told `EPERM`; "
        "homes of others are not there at all, instead of being forbidden."),
    "set-id bits": Difference(
        "No set-user-id and set-group-id bits",
        "`chmod g+s` and `u+s` say `EPERM`, on directories too, so `git init --shared` fails: on "
        "the host such a file would run as whoever started the daemon."),
    "scheduling": Difference(
        "Scheduling classes of disks",
        "`ionice` is refused: the disks are everybody's. `nice` and `taskset` work."),
    "read-only": Difference(
        "The system is read-only",
        "Writing to `/usr`, `/etc` and the like says \"Read-only file system\" where an ordinary "
        "user elsewhere is told \"Permission denied\". Libraries go to `/workspace` (`pip install "
        "--target`)."),
    "man pages' index": Difference(
        "No index of man pages", "`man NAME` works; `man -k` finds nothing, as its index lies in "
        "`/var/cache`, which is not shown."),
    "device files": Difference(
        "No device files",
        "`mknod` of a device says \"Permission denied\" instead of \"Operation not permitted\". In "
        "`/dev` there are null, zero, full, random, urandom, tty, and up to 32 pseudo-terminals of "
        "the session's own."),
    "files of etc": Difference(
        "Not all of /etc",
        "What names users, keys, hosts or proxies of the machine is not shown or replaced: passwd, "
        "hosts, resolv.conf, profile, environment, gitconfig, pip.conf, npmrc, wgetrc, the sources "
        "of apt, ssh. Give sessions what they need by environment variables and files."),
    "disks": Difference(
        "No disks",
        "`/sys/block` is empty and there is no `/proc/diskstats`; the root's device is called "
        "`cella`. `psutil.disk_io_counters()` is None."),
    "counters": Difference(
        "Nobody counts for one session",
        "The times of the processors in `/proc/stat` are those of the cells that have ended, and "
        "switches, interrupts and `/proc/loadavg` are 0. `os.getloadavg()` asks the kernel, which "
        "tells of the whole machine."),
    "large pipes": Difference(
        "Pipes hold 64 KiB",
        "A pipe can be made smaller, not larger than 64 KiB (`EPERM`, as for somebody who has "
        "reached the kernel's limit): those of cells are counted for the daemon."),
    "memory without cgroups": Difference(
        "Address space, for a daemon of an ordinary user without a cgroup",
        "There the limit of memory is one of each process's writable mappings, used or not. "
        "Programs that reserve terabytes of addresses do not start: AddressSanitizer, "
        "ThreadSanitizer. Memory in use (`free`) is the sum over the session's processes; what "
        "they share after a fork counts once for each."),
    "threads of libraries": Difference(
        "One thread for libraries of numbers",
        "In sessions of Python `OMP_NUM_THREADS` and its kin are 1, because threads cannot be "
        "copied with a session's past; `nproc` believes that. In others they are as many as the "
        "limit of processor time is for. `nproc --all` and `os.cpu_count()` tell what there is. "
        "Whoever wants threads sets the variable, or asks for them (`n_jobs=2`)."),
    "events of reading": Difference(
        "Files are watched for changes only",
        "`inotify` does not tell that a file was opened, read or closed after reading: `/usr` is "
        "shared with the host, and would tell what others run. A watch that asks for these events "
        "too says `EPERM`, and no filter can take them out of the question. Python's `watchdog` "
        "(2.3 and later) asks for them unless `schedule()` is given an `event_filter` (4.0 and "
        "later) without `FileOpenedEvent` and `FileClosedNoWriteEvent`; `inotifywait` unless it "
        "has `-e`."),
    "lists of sockets": Difference(
        "No lists of sockets by netlink",
        "Netlink only lists interfaces and routes: `ss` complains and reads `/proc/net` instead."),
    "debugging": Difference(
        "Debugging is asked for",
        "`gdb`, `strace`, `py-spy`, `setarch -R` and leak checks work in sessions made with "
        "`\"debug\": true` (`cella exec --debug`), among the session's own processes; in others "
        "`ptrace` says `EPERM` and LeakSanitizer is off. While somebody traces the interpreter "
        "itself no checkpoint of it is made. Where the host's `kernel.yama.ptrace_scope` is 1 only "
        "what the tracer started can be traced, as everywhere on that host."),
    "namespaces": Difference(
        "No namespaces of one's own",
        "`unshare`, containers and sandboxes inside of a session are refused: most holes of the "
        "kernel that were found in the last years are behind that door."),
    "raw sockets": Difference(
        "No raw sockets", "`ping` and `tcpdump` cannot work. TCP and UDP on the loopback do."),
}
