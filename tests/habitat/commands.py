"""The table's first part: the shell, the system's programs, build tools."""

from table import case, sh

# --- the shell ------------------------------------------------------------------------------------

sh("grep into null", "echo hello | grep h >/dev/null; echo $?")
sh("grep in a condition", "if printf 'a\\nb\\n' | grep -E '^b' >/dev/null; then echo yes; fi")
sh("write to dev stderr", "echo oops > /dev/stderr")
sh("write to dev stdout", "echo x > /dev/stdout")
sh("append to dev stderr", "echo one >> /dev/stderr; echo two >> /dev/stderr")
sh("tee to dev stderr", "echo both | tee /dev/stderr")
sh("read dev stdin", "echo in | cat /dev/stdin")
sh("dev fd of a substitution", "cat <(echo one) <(echo two); diff <(seq 3) <(seq 3) && echo same")
sh("dev fd by number", "exec 5<<<five; cat /dev/fd/5; cat /proc/self/fd/5 | wc -c")
sh("no terminal", "echo x > /dev/tty; echo $?; test -t 0; echo $?; tty; echo $?")
sh("stdout can be written", "[ -w /dev/stdout ] && echo yes; [ -r /dev/stdin ] && echo yes")
sh("here document", "cat <<END\n$((6 * 7)) $(echo nested)\nEND")
sh("arrays", 'a=(x y z); a+=(w); echo "${#a[@]} ${a[@]:1:2} ${!a[*]}"; '
             'declare -A m=([k]=v); echo ${m[k]}')
sh("traps", "trap 'echo bye' EXIT; trap 'echo usr1' USR1; kill -USR1 $$; echo end")
sh("jobs and wait", "sleep 0.1 & p=$!; wait $p; echo $?; (exit 7) & wait $!; echo $?")
sh("a pipeline's status", "set -o pipefail; false | cat; echo $? ${PIPESTATUS[@]}")
sh("a killed process", "sleep 30 & kill -9 $!; wait $!; echo $?", but="process numbers")
sh("coprocess", "coproc cat; echo hello >&${COPROC[1]}; read x <&${COPROC[0]}; echo $x")
sh("read with a time limit", "read -t 0.1 x < <(sleep 1); echo $(( $? > 128 ))")
sh("named pipe", "mkfifo p; echo through > p & cat p; wait")
sh("limits of descriptors", "ulimit -n; ulimit -n 4096 && ulimit -n; ulimit -Sn 256; ulimit -n")
sh("limits can go down", "ulimit -c 0; ulimit -t 100; ulimit -c; ulimit -t")
sh("limits of message queues", "ulimit -Hq", closed="limits")
sh("umask", "umask; umask 077; touch f; stat -c %a f")
sh("globs", "touch a1 a2 b1; echo a* [!a]*; shopt -s extglob; echo !(b*)")
sh("arithmetic", "echo $((2**40)) $((0x1f)) $((16#ff)) $(( (7 & 3) << 2 ))")
sh("printf", "printf '%05d|%-5s|%x|%q\\n' 42 ab 255 'a b'; printf '%(%Y)T\\n' 0")
sh("regular expressions", "[[ abc123 =~ ([a-z]+)([0-9]+) ]] && echo ${BASH_REMATCH[@]}")
sh("a function's locals", "f() { local x=1; x=$((x + $1)); return $x; }; f 4; echo $?")
sh("mapfile", "mapfile -t l < <(seq 3); echo ${#l[@]} ${l[2]}")
sh("time", "TIMEFORMAT=%R; time true 2>&1 | cat", but="times")
sh("dash", "sh -c 'echo $0 $1' name arg; sh -c 'set -e; false; echo no'; echo $?")
sh("exec", "exec echo replaced; echo never")
sh("sourcing", "echo 'v=7' > s; . ./s; echo $v")
sh("a script with a first line", "printf '#!/bin/sh\\necho ran $1\\n' > s; chmod +x s; ./s x")
sh("env as interpreter", "printf '#!/usr/bin/env python3\\nprint(6*7)\\n' > s; chmod +x s; ./s")
sh("kill and signals' names", "kill -l 9 15; sleep 9 & kill $!; wait $! 2>/dev/null; echo $?")
sh("history of a login shell", "bash -lc 'echo in; shopt -q login_shell && echo login'",
   but="who")
sh("set -x", "set -x; echo a b 2>&1; : $((1+1))")
sh("getopts", "set -- -a -b v r; while getopts ab: o; do echo $o $OPTARG; done; echo $OPTIND")
sh("brace expansion", "echo {1..5} {a,b}{1,2} {01..03}")
sh("command not found", "nosuchcommand; echo $?")
sh("permission denied", "echo x > f; ./f; echo $?; cat /root/x; echo $?", closed="other users")
sh("a missing file", "cat missing; ls missing; rm missing; echo $?")
case("cell bash", "cell: dev stderr", "echo oops > /dev/stderr")
case("cell bash", "cell: dev stdout", "echo fine > /dev/stdout; echo more >> /dev/stdout")
case("cell bash", "cell: tee dev stderr", "echo both | tee /dev/stderr | cat")
case("cell bash", "cell: dev fd",
     "echo one > /dev/fd/1; echo two > /dev/fd/2; echo z >/proc/self/fd/1")
case("cell bash", "cell: stdout can be written", "[ -w /dev/stdout ] && echo yes")
case("cell bash", "cell: curl to dev stdout", "curl -so /dev/stdout file:///etc/debian_version",
     "curl")
case("cell bash", "cell: grep into null", "echo hello | grep h >/dev/null && echo found")
case("cell bash", "cell: python to dev stdout",
     "python3 -c 'open(\"/dev/stdout\", \"w\").write(\"hello\\n\")'")
case("cell bash", "cell: awk to dev stderr", "awk 'BEGIN { print \"x\" > \"/dev/stderr\" }'")
case("cell python", "cell: python's open of dev stdout",
     "with open('/dev/stdout', 'w') as f: n = f.write('hello\\n')")
case("cell python", "cell: python's open of dev stderr",
     "with open('/dev/stderr', 'w') as f: n = f.write('hello\\n')")
case("cell python", "cell: subprocess to dev stdout",
     "import subprocess\nr = subprocess.run('echo sub > /dev/stdout', shell=True)")
case("cell node", "cell: node's file of dev stdout",
     "require('fs').writeFileSync('/dev/stdout', 'hello\\n')", "node")
case("cell node", "cell: node's child to dev stderr",
     "require('child_process').execSync('echo sub > /dev/stderr', {stdio: 'inherit'}), undefined",
     "node")

# --- coreutils and their kin ----------------------------------------------------------------------

sh("ls", "touch b a .c; ls; ls -A; ls -1r; mkdir d; ls -F")
sh("ls -l", "echo hello > f; ln -s f l; chmod 640 f; ls -l f l | awk '{print $1, $5, $9}'")
sh("cp and mv", "echo 1 > a; cp -p a b; mv b c; cp -r . ../x-cp 2>&1 | wc -l; cat c; rm -r ../x-cp")
sh("cp --reflink", "echo 1 > a; cp --reflink=auto --sparse=always a b; cmp a b && echo same")
sh("install", "echo 1 > a; install -D -m 750 a d/e/f; stat -c '%a %s' d/e/f")
sh("ln", "echo 1 > a; ln a b; ln -s a c; stat -c %h a; readlink c; realpath --relative-to=. c")
sh("chmod", "touch f; chmod u+x,g-r f; stat -c %A f; chmod 000 f; cat f; echo $?")
sh("chown oneself", "touch f; chown $(id -u) f && echo fine")
sh("chown to another", "touch f; chown 0 f; echo $?", closed="other users")
sh("chgrp to another", "touch f; chgrp 0 f; echo $?", closed="other users")
sh("set-group-id directory", "mkdir d; chmod g+s d; echo $?", closed="set-id bits")
sh("sticky directory", "mkdir d; chmod +t d; stat -c %A d")
sh("mknod", "mknod p p && stat -c %F p")
sh("mknod of a device", "mknod f c 1 3; echo $?", closed="device files")
sh("stat", "echo hello > f; stat -c '%s %F %h %a' f; stat -Lc %F /dev/null")
sh("touch with a time", "touch -d '2020-01-02 03:04:05 UTC' f; date -u -r f +%FT%T")
sh("find", "mkdir -p a/b; touch a/b/y.py; touch -d 2020-01-02 a/x.py; find . -name '*.py' | sort; "
           "find . -type d -empty; find a -newer a/x.py -print0 | sort -z | xargs -0 -r echo")
sh("find -exec", "touch a b; find . -type f -exec echo {} + | wc -w; find . -type f -delete; ls")
sh("sort", "printf '10\\n9\\n1\\n' | sort -n; printf 'b a\\na b\\n' | sort -k2; sort -u <<<x")
sh("sort of much", "seq 200000 | shuf --random-source=/dev/zero | sort -n --parallel=2 | tail -1")
sh("uniq and wc", "printf 'a\\na\\nb\\n' | uniq -c; printf 'a b\\nc\\n' | wc")
sh("cut and paste", "paste -d: <(seq 3) <(seq 4 6) | cut -d: -f2; tr a-z A-Z <<<abc")
sh("head and tail", "seq 100 | head -n -97; seq 100 | tail -n +99; seq 10 | tail -c 3")
sh("sed",
   "printf 'a1\\nb2\\n' | sed -E 's/([a-z])([0-9])/\\2\\1/'; echo x > f; sed -i s/x/y/ "
   "f; cat f")
sh("awk", "seq 5 | awk '{s += $1} END {print s, NR, sqrt(s+1)}'; echo 'a:b' | awk -F: '{print $2}'")
sh("awk system", "awk 'BEGIN { system(\"echo sub\"); \"echo pipe\" | getline x; print x }'")
sh("grep",
   "printf 'one\\ntwo\\n' > f; grep -n t f; grep -c . f; grep -rl one .; grep -oP "
   "'t\\Kw' f")
sh("grep of a tree", "mkdir a; echo needle > a/b; grep -r needle .; grep -q none a/b; echo $?")
sh("xargs", "seq 6 | xargs -n 2 echo; seq 4 | xargs -P 2 -I{} sh -c 'echo {}' | sort")
sh("tee", "echo x | tee a b >/dev/null; cat a b; echo y | tee -a a | cat; cat a")
sh("dd", "dd if=/dev/zero of=f bs=1k count=4 2>/dev/null; stat -c %s f; "
         "dd if=f bs=1k skip=3 status=none | wc -c")
sh("truncate and du", "truncate -s 1M f; stat -c '%s %b' f; du -b f; du -sh --apparent-size f")
sh("split and csplit",
   "seq 10 | split -l 4 - p; wc -l p* | tail -1; seq 4 | csplit -s - 3; cat xx01")
sh("comm and join", "comm <(seq 3) <(seq 2 4); join <(echo '1 a') <(echo '1 b')")
sh("checksums", "echo x | md5sum; echo x | sha256sum; echo x | sha512sum | cut -c1-9; cksum <<<x")
sh("base64",
   "echo hello | base64; echo aGVsbG8K | base64 -d; echo hi | base32; basenc --base16 "
   "<<<a")
sh("od and xxd",
   "printf 'AB\\n' | od -c; printf AB | xxd -p; printf AB | hexdump -C", "xxd hexdump")
sh("date",
   "TZ=UTC date -d @0; TZ=Europe/Berlin date -d @0 +%H:%M%Z; date -u -d '2024-02-29 +1 "
   "year'")
sh("time zones", "TZ=Asia/Tokyo date -d @0 +%z; TZ=America/New_York date -d @1700000000 +%T; "
                 "date +%Z")
sh("seq and numfmt", "seq -s, 1 0.5 3; numfmt --to=iec 1048576; numfmt --from=si 1K; factor 360")
sh("expr and test",
   "expr 3 \\* 4; expr length abc; test 3 -gt 2 && echo yes; [ a \\< b ] && echo lt")
sh("column", "printf 'a bb\\nccc d\\n' | column -t", "column")
sh("shuf", "shuf -i 1-5 --random-source=/dev/zero; shuf -e a -n 1")
sh("timeout", "timeout 0.1 sleep 5; echo $?; timeout 5 true; echo $?; timeout -s KILL 0.1 sleep 5; "
              "echo $?", but="process numbers")
sh("nohup", "nohup echo x 2>/dev/null; nohup sh -c 'echo y' > f 2>&1; tail -1 f")
sh("nice", "nice -n 5 nice; nice -n 5 true; echo $?")
sh("ionice", "ionice -c 3 true; echo $?", "ionice", closed="scheduling")
sh("taskset", "taskset -c 0 echo pinned; taskset -p $$ | sed 's/.*: //' | wc -l", "taskset")
sh("chrt", "chrt -p $$ | sed 's/.*: //'; chrt -b 0 echo batch", "chrt")
sh("stdbuf", "seq 3 | stdbuf -oL cat | tail -1", "stdbuf")
sh("setsid", "setsid echo new; setsid -w sh -c 'exit 3'; echo $?", "setsid")
sh("flock", "flock f echo locked; flock -n f sh -c 'flock -n f echo no || echo busy'", "flock")
sh("mktemp",
   "f=$(mktemp); echo ok > $f && cat $f && rm $f; d=$(mktemp -d) && rmdir $d && echo "
   "gone")
sh("sync", "echo x > f; sync f && echo synced; sync -d f; sync; echo $?")
sh("sleep", "sleep 0.01 && echo slept; sleep x; echo $?")
sh("yes and a closed pipe", "yes | head -n 2; echo ${PIPESTATUS[@]}")
sh("env", "env -i A=1 env; env A=2 sh -c 'echo $A'; printenv LANG")
sh("id", "id -u | grep -c .; id -un | wc -l; groups | wc -w; whoami | wc -l", but="who")
sh("id and names", "id", but="who")
sh("home", "cd ~ && [ $PWD = $HOME ] && echo home; echo ~ | wc -l")
sh("getent passwd", "getent passwd root | cut -d: -f1,3; getent passwd $(id -u) | wc -l")
sh("getent hosts", "getent hosts localhost | awk '{print $2}'; getent services http; "
                   "getent protocols tcp")
sh("hostname", "hostname; uname -n", "hostname", but="host name")
sh("uname", "uname -s; uname -m; uname -r")
sh("arch and getconf",
   "arch; getconf PAGE_SIZE; getconf ARG_MAX; getconf LONG_BIT; getconf OPEN_MAX")
sh("getconf of processors", "getconf _NPROCESSORS_ONLN")
sh("nproc", "nproc")
case("cell python", "nproc in a cell of Python", "import os; print(os.popen('nproc').read())",
     closed="threads of libraries")
sh("nproc of all", "nproc --all; env -u OMP_NUM_THREADS nproc")
sh("df of the folder", "df . | wc -l; df -h . >/dev/null; echo $?; df --output=target . | wc -l")
sh("df of all", "df >/dev/null; echo $?")
sh("free", "free -m | head -1; free -m | awk '/Mem/ {print ($2 > 0)}'", "free")
sh("uptime", "uptime -p | cut -c1-2; uptime | grep -c load", "uptime")
sh("ps", "ps -o comm= -p $$; ps aux | head -1 | awk '{print $1, $2}'", "ps")
sh("ps -ef", "ps -ef | head -1 | awk '{print $1, $2, $3}'", "ps")
sh("top", "top -bn1 | head -1 | cut -c1-3; top -bn1 | grep -c PID", "top")
sh("pgrep and pkill",
   "sleep 31 & until pgrep -f '^sleep 31$'; do :; done | wc -l; pkill -f '^sleep 31$'; wait $!; "
   "echo $?",
   "pgrep")
sh("pstree", "pstree -A $$ | head -1 | cut -d- -f1", "pstree")
sh("lscpu", "lscpu | grep -c Arch", "lscpu")
sh("lsof", "lsof -p $$ | head -1 | awk '{print $1}'; echo $?", "lsof")
sh("fuser", "exec 4> f; fuser f 2>/dev/null | wc -w", "fuser")
sh("meminfo", "grep -c MemTotal /proc/meminfo; grep -c '^cpu ' /proc/stat")
sh("proc cpuinfo", "grep -c '^processor' /proc/cpuinfo")
sh("counters of the system", "awk '/^ctxt/ {print ($2 > 0)}' /proc/stat", closed="counters")
sh("the root's device", "findmnt -no SOURCE /; test -e /proc/diskstats; echo $?", "findmnt",
   closed="disks")
sh("proc loadavg", "awk '{print NF}' /proc/loadavg /proc/uptime")
sh("proc mounts", "awk '$2 == \"/\"' /proc/mounts | wc -l; mount | grep -c ' / '")
sh("proc version", "cut -d' ' -f1 /proc/version; cat /proc/sys/kernel/osrelease")
sh("proc sys", "cat /proc/sys/kernel/pid_max | wc -l; cat /proc/sys/vm/overcommit_memory | wc -l")
sh("proc self",
   "cut -d' ' -f2 /proc/self/stat; head -1 /proc/self/status; ls /proc/self/fd | wc -l; "
   "tr '\\0' ' ' < /proc/self/cmdline")
sh("proc of a child", "sleep 5 & cat /proc/$!/comm; readlink /proc/$!/exe; kill $!")
sh("proc filesystems", "grep -c tmpfs /proc/filesystems; grep -c tcp /proc/net/protocols")
sh("sys cpu", "cat /sys/devices/system/cpu/online | wc -l; ls /sys/devices/system/cpu/cpu0 | wc -w "
              "| sed 's/.*/some/'")
sh("sys of net", "ls /sys/class/net | grep -c lo")
sh("tail -f", "echo one > f; timeout 0.5 tail -f f; echo $?")
sh("tail of a growing file",
   "echo one > f; (sleep 0.3; echo two >> f) & timeout 3 tail -n +1 -F f | head -n 2")
sh("watch", "TERM=dumb timeout 1 watch -t -n 5 echo x >/dev/null 2>&1; echo $?", "watch")
sh("dmesg", "dmesg >/dev/null 2>&1; echo $?", "dmesg")
sh("ipcs", "ipcs -q | wc -l | sed 's/.*/lines/'; ipcmk -Q | wc -l", "ipcs")
sh("a file of 64 MB", "head -c 64M /dev/zero > f; stat -c %s f; rm f")
sh("many files", "for i in $(seq 500); do : > f$i; done; ls | wc -l; rm f*; ls | wc -l")
sh("a long name and a deep path",
   "n=$(printf 'x%.0s' {1..255}); touch $n && ls | wc -c; mkdir -p a/b/c/d/e/f/g/h/i/j "
   "&& cd a/b/c/d/e/f/g/h/i/j && echo in")
sh("extended attributes", "touch f; python3 -c \"import os; os.setxattr('f', 'user.a', b'1'); "
                          "print(os.getxattr('f', 'user.a'))\"")
sh("device files", "head -c 3 /dev/zero | od -An -tx1; head -c 8 /dev/urandom | wc -c; "
                   "echo x > /dev/full; echo $?; ls -L /dev/null")
sh("dev shm", "echo x > /dev/shm/habitat-$$; cat /dev/shm/habitat-$$; rm /dev/shm/habitat-$$")
sh("var tmp", "f=$(mktemp -p /var/tmp); echo ok > $f; cat $f; rm $f")
sh("a file of the system", "echo x > /usr/x; echo $?; rm /etc/passwd; echo $?", closed="read-only")

# --- archives, text, tools ------------------------------------------------------------------------

sh("tar and gzip", "mkdir d; echo 1 > d/f; tar czf a.tgz d; rm -r d; tar xzf a.tgz; cat d/f; "
                   "tar tzf a.tgz")
sh("tar with bzip2, xz, zstd", "echo 1 > f; for c in j J; do tar c${c}f a f && tar tf a; done; "
                               "tar --zstd -cf b f && tar tf b", "bzip2 xz zstd")
sh("zip", "echo 1 > f; zip -q a.zip f; rm f; unzip -q a.zip; cat f; unzip -l a.zip | tail -1",
   "zip unzip")
sh("gzip in a pipe",
   "seq 1000 | gzip -9 | gunzip | tail -1; seq 9 | gzip > f.gz; zcat f.gz | wc -l")
sh("xz with threads", "seq 10000 | xz -T2 | xz -d | tail -1", "xz")
sh("diff and patch",
   "seq 3 > a; (seq 2; echo x) > b; diff -u a b | tail -n +3 > p; cat p; patch a p; cmp "
   "a b && echo same", "patch")
sh("cmp", "cmp <(echo a) <(echo b); echo $?")
sh("bc", "echo '2^100; scale=5; 22/7' | bc; echo 's(0)' | bc -l", "bc")
sh("jq", "echo '{\"a\": [1, 2]}' | jq -c '.a | map(. + 1)'", "jq")
sh("sqlite3", "sqlite3 db 'create table t(a); insert into t values(1), (2); select sum(a) from t'",
   "sqlite3")
sh("file",
   "file -b /bin/sh; printf '\\x89PNG\\r\\n\\x1a\\n' > p; file -b p; echo hi > t; file t", "file")
sh("iconv", "printf 'h\\xe9' | iconv -f latin1 -t utf8; echo; iconv -l | grep -c UTF-8")
sh("gettext",
   "echo '$A' | A=1 envsubst; gettext nothing; msgfmt --version | head -1", "gettext msgfmt")
sh("openssl", "echo x | openssl dgst -sha256; openssl rand -hex 4 | wc -c; "
              "openssl genrsa 2048 2>/dev/null | head -1", "openssl")
sh("openssl certificate", "openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c -subj /CN=x "
                          "2>/dev/null; openssl x509 -in c -noout -subject", "openssl")
sh("ca-certificates", "ls /etc/ssl/certs | wc -l; head -1 /etc/ssl/certs/ca-certificates.crt; "
                      "openssl version -d; ls -L /etc/ssl/certs/*.pem | wc -l", "openssl")
sh("gpg", "mkdir -m 700 g; gpg --homedir g --batch --passphrase x -c -o f.gpg /etc/debian_version "
          "2>/dev/null; gpg --homedir g --batch --passphrase x -d f.gpg 2>/dev/null", "gpg")
sh("ssh-keygen",
   "ssh-keygen -q -t ed25519 -N '' -f k && ls k k.pub; ssh -V 2>&1 | cut -c1-7", "ssh", but="who")
sh("git",
   "git init -q r && cd r && git config user.email a@b && git config user.name n && echo "
   "1 > f && git add . && git commit -qm first && git log --format=%s && git status -s "
   "&& git branch x && git checkout -q x && git diff --stat", "git")
sh("git clone", "git init -q -b main r && cd r && git -c user.email=a@b -c user.name=n commit -q "
                "--allow-empty -m e && cd .. && git clone -q r s && git -C s log --oneline | wc -l",
   "git")
sh("git configuration of the system", "git config --system --list | wc -l", "git",
   closed="files of etc")
sh("vim", "vim -es -u NONE -c 'normal ihello' -c 'wq! f' < /dev/null; cat f", "vim")
sh("less", "echo x | less; seq 3 | more", "less")
sh("strings, nm, objdump",
   "strings /bin/true | wc -l | sed 's/.*/n/'; nm -D /bin/true | grep -c exit; objdump "
   "-f /bin/true | grep arch; readelf -h /bin/true | grep Class", "objdump")
sh("ldd", "ldd /bin/true | grep -c libc; LD_TRACE_LOADED_OBJECTS=1 /bin/true | wc -l")
sh("curl of a file",
   "echo x > f; curl -s file://$PWD/f; curl -sS http://127.0.0.1:9/; echo $?", "curl",
   but="times")
sh("curl without a network", "curl -sS --max-time 5 http://example.invalid/ 2>&1; echo $?", "curl")
sh("wget of a dead port", "wget -q -t 1 -T 2 http://127.0.0.1:9/; echo $?", "wget")
sh("convert", "convert -size 10x10 xc:red p.png && file -b p.png", "convert file")
sh("fc-list", "fc-list | wc -l; fc-match sans", "fc-list")
sh("man", "man -P cat ls 2>/dev/null | head -1 | tr -s ' '; man -w ls", "man")
sh("man -k",
   "man -k '^ls$' | cut -c1-2; apropos -e printf | wc -l", "man", closed="man pages' index")
sh("groff", "printf '.TH A 1\\nhello\\n' | groff -Tascii -man | grep -c hello", "groff")
sh("dpkg", "dpkg -l bash | tail -1 | awk '{print $1, $2, $3}'; dpkg -L bash | head -3; "
           "dpkg -S /bin/bash", "dpkg")
sh("dpkg-query", "dpkg-query -W -f '${Package} ${Version}\\n' | wc -l; dpkg --print-architecture; "
                 "dpkg -s coreutils | grep Status", "dpkg")
sh("apt list",
   "apt list --installed 2>/dev/null | wc -l; apt-cache policy bash 2>&1 | head -2", "apt")
sh("locale", "locale -a | sort | head -3; locale; LC_ALL=C locale charmap; locale charmap")
sh("terminfo", "TERM=xterm tput cols; TERM=xterm-256color tput colors; infocmp xterm | wc -l; "
               "TERM=screen tput bold | od -c | head -1", "tput infocmp")
sh("os-release", "grep ^ID= /etc/os-release; lsb_release -is 2>/dev/null; cat /etc/debian_version")
sh("alternatives", "readlink -f /etc/alternatives/awk; readlink -f $(which awk); "
                   "update-alternatives --query awk | head -2")
sh("files of etc", "for f in shells login.defs "
                   "networks rpc manpath.config locale.alias magic xattr.conf; do "
                   "[ -e /etc/$f ] && cksum /etc/$f; done")
sh("links of usr",
   "find /usr/lib /usr/share -xtype l 2>/dev/null | grep -Ev 'environment.d|ssl/private' | sort")
sh("crontab", "crontab -l; echo $?", "crontab")
sh("systemctl", "systemctl is-system-running; echo $?", "systemctl")
sh("su", "su -c true < /dev/null >/dev/null 2>&1; [ $? -ne 0 ] && echo refused", "su")
sh("script", "script -qec 'echo in a terminal; tty | cut -c1-9' /dev/null", "script")
sh("script of a colour", "script -qec 'ls --color=auto -d /' /dev/null | od -c | head -3", "script")
sh("tmux", "tmux -S s -f /dev/null new-session -d 'echo hello; sleep 20' && sleep 0.5 && "
           "tmux -S s capture-pane -p | head -1; tmux -S s kill-server", "tmux")
sh("stty",
   "stty -a < /dev/null; echo $?; script -qec 'stty size; stty -echo; stty -a | grep -c "
   "-- -echo' /dev/null", "script")
sh("prlimit", "prlimit --pid $$ --nofile | tail -1 | awk '{print $1, $(NF-1)}'; "
              "prlimit --nofile=100:200 sh -c 'ulimit -n'", "prlimit", but="limits")
sh("strace", "strace -o f true; echo $?; strace -f -e trace=execve sh -c 'true; /bin/true' 2>&1 | "
             "grep -c /bin/true; strace -c true 2>&1 | grep -c execve", "strace", debug=True)
sh("strace of another process",
   "sleep 20 & strace -e trace=none -p $! 2> t & until grep -q attached t; do sleep .1; done; "
   "kill %1; wait; grep -o 'killed by .*' t",
   "strace", debug=True)
sh("strace without debug", "strace -o f true; echo $?", "strace", closed="debugging")
sh("gdb", "gdb -batch -ex run -ex 'p $_exitcode' /bin/true 2>&1 | tail -1", "gdb", debug=True)
sh("gdb of a fault",
   "echo 'int f(int *p) { return *p; } int main(void) { return f(0); }' > f.c; gcc -g -o f f.c; "
   "gdb -batch -ex 'break f' -ex run -ex 'p p' -ex continue -ex bt ./f 2>&1 | grep -E '^(#|\\$)'",
   "gdb gcc", debug=True)
sh("gdb of another process",
   "sleep 20 & gdb -batch -ex 'p 6 * 7' -ex detach -p $! 2>&1 | grep '= 42'; kill %1",
   "gdb", debug=True)
sh("gcore", "sleep 20 & gcore -o c $! >/dev/null 2>&1; ls c.* | wc -l; kill %1", "gcore",
   debug=True)
sh("setarch -R", "setarch -R sh -c 'grep -c . /proc/self/maps >/dev/null; echo $?'", "setarch",
   debug=True)
sh("unshare", "unshare -Ur true; echo $?", "unshare", closed="namespaces")
sh("chroot", "chroot . true; echo $?")
sh("mount", "mount -t tmpfs x . 2>/dev/null; [ $? -ne 0 ] && echo refused")
sh("ping", "ping -c 1 -W 1 127.0.0.1 >/dev/null; echo $?", "ping", closed="raw sockets")
sh("ip",
   "ip -o link show lo | cut -d: -f2; ip -4 -o addr show lo | awk '{print $4}'", "ip")
sh("ss", "ss -ltn | head -1 | awk '{print $1}'", "ss", closed="lists of sockets")
sh("netstat",
   "netstat -ltn 2>/dev/null | tail -n +2 | head -1 | awk '{print $1}'", "netstat")

# --- build tools ----------------------------------------------------------------------------------

HELLO_C = "printf '#include <stdio.h>\\nint main(void) { puts(\"hello\"); return 3; }\\n' > h.c; "
sh("gcc", HELLO_C + "gcc -O2 -Wall -o h h.c && ./h; echo $?", "gcc")
sh("gcc -pipe -flto", HELLO_C + "gcc -pipe -O2 -flto -o h h.c && ./h; echo $?", "gcc")
sh("g++", "printf '#include <iostream>\\n#include <vector>\\nint main() { std::vector<int> v{1,2}; "
          "std::cout << v.size() << std::endl; }\\n' > h.cc; g++ -o h h.cc && ./h", "g++")
sh("clang", HELLO_C + "clang -o h h.c && ./h; echo $?", "clang")
sh("gcc with threads",
   "printf '#include <pthread.h>\\n#include <stdio.h>\\nvoid *f(void *x) { return x; "
   '}\\nint main(void) { pthread_t t; void *r; pthread_create(&t, 0, f, "in"); '
   "pthread_join(t, &r); puts(r); }\\n' > h.c; gcc -pthread -o h h.c && ./h", "gcc")
sh("openmp",
   "printf '#include <stdio.h>\\n#include <omp.h>\\nint main(void) { int s = "
   "0;\\n#pragma omp parallel for reduction(+:s) num_threads(2)\\nfor (int i = 0; i < "
   '100; i++) s += i; printf("%%d\\\\n", s); }\\n\' > h.c; gcc -fopenmp -o h h.c && ./h', "gcc")
sh("shared library", "echo 'int f(void) { return 42; }' > l.c; gcc -shared -fPIC -o libl.so l.c; "
                     "python3 -c \"import ctypes; print(ctypes.CDLL('./libl.so').f())\"", "gcc")
LEAK_C = "echo '#include <stdlib.h>\nint main(void) { char *volatile p = malloc(7); p = 0; " \
         "return p != 0; }' > l.c; "
sh("leak sanitizer", LEAK_C + "gcc -g -fsanitize=leak -o l l.c && ./l 2>&1 | "
                              "grep -oE 'Direct leak of 7 byte|SUMMARY: [A-Za-z]*'", "gcc",
   debug=True)
sh("address sanitizer and leaks", LEAK_C + "gcc -g -fsanitize=address -o l l.c && ./l 2>&1 | "
                                           "grep -oE 'Direct leak of 7 byte|SUMMARY: [A-Za-z]*'",
   "gcc", debug=True, closed_user="memory without cgroups")
sh("undefined behaviour sanitizer",
   "echo 'int main(int n, char **v) { int x = 0x7fffffff; return (x + n) != 0; }' > u.c; "
   "gcc -fsanitize=undefined -o u u.c && ./u; echo $?", "gcc")
sh("address sanitizer", "echo '#include <stdlib.h>\nint main(void) { char *p = malloc(1); free(p); "
                        "return p[0]; }' > a.c; gcc -g -fsanitize=address -o a a.c && ./a 2>&1 | "
                        "grep -c 'heap-use-after-free'", "gcc",
   closed_user="memory without cgroups")
sh("address sanitizer without a fault", "echo 'int main(void) { return 0; }' > a.c; "
                                        "gcc -fsanitize=address -o a a.c && ./a; echo $?", "gcc",
   closed_user="memory without cgroups")
sh("thread sanitizer",
   "echo 'int main(void) { return 0; }' > a.c; gcc -fsanitize=thread -o a a.c && ./a; "
   "echo $?", "gcc",
   closed_user="memory without cgroups")
sh("gcov", HELLO_C + "gcc --coverage -o h h.c && ./h; gcov -n h-h.gcda | grep Lines", "gcc")
sh("make",
   "printf 'all: a b\\na b:\\n\\t@echo $@ > $@; echo made $@\\n' > Makefile; make -j2 -s "
   "-O | sort; make -s", "make")
sh("make with a job server",
   "printf 'all:\\n\\t@$(MAKE) -s sub\\nsub: x y\\nx y:\\n\\t@echo $@ | grep -c . "
   ">/dev/null && echo $@\\n' > Makefile; make -s -j4 | sort", "make")
sh("cmake",
   HELLO_C +
   "printf 'cmake_minimum_required(VERSION 3.10)\\nproject(h C)\\nadd_executable(h "
   "h.c)\\n' > CMakeLists.txt; cmake -B b > log && cmake --build b -j2 > log && b/h; "
   "echo $?", "cmake gcc")
sh("meson", HELLO_C + "printf \"project('h', 'c')\\nexecutable('h', 'h.c')\\n\" > meson.build; "
            "meson setup b > log && ninja -C b > log && b/h; echo $?", "meson ninja gcc")
sh("pkg-config", "pkg-config --exists zlib; echo $?; pkg-config --libs libuv", "pkg-config")
sh("java",
   "printf 'class H { public static void main(String[] a) { System.out.println(6 * 7); } "
   "}' > H.java; java H.java", "java")
sh("javac",
   "printf 'class H { public static void main(String[] a) { System.out.println(1); } }' "
   "> H.java; javac H.java && java -cp . H", "javac")
sh("java's processors and memory", "printf 'class H { public static void main(String[] a) { "
   "Runtime r = Runtime.getRuntime(); System.out.println(r.availableProcessors() > 0); "
   "System.out.println(r.maxMemory() > 1); } }' > H.java; java H.java", "java")
OWN_PLACES = "PATH=$PATH:/usr/local/go/bin:/usr/local/cargo/bin\n"
sh("cargo", OWN_PLACES + "cargo new -q h --vcs none && cd h && cargo run -q --offline && "
                         "cargo test -q --offline 2>&1 | grep -c 'test result: ok'", "cargo")
sh("rustc", OWN_PLACES + "echo 'fn main() { println!(\"{}\", 6 * 7); }' > h.rs; rustc h.rs && ./h",
   "rustc")
sh("go", OWN_PLACES + "export GOTOOLCHAIN=local GOFLAGS=-mod=mod GOPROXY=off CGO_ENABLED=0\n"
                      "printf 'package main\\nfunc main() { println(42) }\\n' > h.go; go run h.go; "
                      "go mod init h 2>/dev/null && go build -o h && ./h", "go")
sh("perl",
   'perl -e \'use POSIX; printf "%s %d\\n", strftime("%Y", gmtime(0)), fork ? (wait, '
   "1)[1] : exit'", "perl")
sh("perl modules",
   "perl -MData::Dumper -MJSON::PP -MFile::Temp -e 'print encode_json([1, {a => 2}]), "
   '"\\n"\'', "perl")
sh("python's venv",
   "python3 -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix != "
   "sys.base_prefix)'")
sh("pip", "pip --version | cut -c1-4; pip list 2>/dev/null | wc -l", "pip")
sh("pip install of a folder",
   'mkdir p; printf \'from setuptools import setup\\nsetup(name="p", version="1", '
   'py_modules=["m"])\\n\' > p/setup.py; echo \'x = 42\' > p/m.py; pip install -q '
   "--no-deps --no-build-isolation --no-index --target t ./p 2>&1 | tail -3; "
   "PYTHONPATH=t python3 -c 'import m; print(m.x)'", "pip py:setuptools py:wheel")
sh("npm init",
   "npm init -y >/dev/null 2>&1; grep -c version package.json; npm pkg get version", "npm")
sh("npm run", "echo '{\"scripts\": {\"t\": \"echo ran\"}}' > package.json; npm run -s t", "npm")
sh("valgrind", HELLO_C + "gcc -o h h.c && valgrind -q ./h; echo $?", "valgrind gcc")
sh("ccache", HELLO_C + "CCACHE_DIR=$PWD/c ccache gcc -c h.c && ls h.o", "ccache gcc")
sh("pytest", "echo 'def test_a(tmp_path, capsys, capfd): assert tmp_path.exists()' > test_a.py; "
             "python3 -m pytest -q test_a.py -p no:cacheprovider | head -1", "py:pytest")
