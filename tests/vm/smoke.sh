#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# smoke.sh BUILD_DIR - is what osb promises so on this machine?
#
# For a machine of its own, as tests/vm/run boots one, where nothing else is
# sandboxed; it needs a shell, coreutils, procps and python3, and root. Prints
# "ok - CLAIM" or "not ok - CLAIM: WHY" per test, "# ..." to explain, and 1..N
# at the end. The machine may be slow: whatever takes time is waited for until
# a deadline, never for a fixed time.
set -u
export LC_ALL=C

build=$1
patience=60 # seconds for what takes one or two where nothing is emulated
work=$(mktemp -d /tmp/smoke.XXXXXX)
volume=$(mktemp -d /srv/smoke.XXXXXX)
trap 'rm -rf "$work" "$volume"' EXIT

# A daemon of our own, which leaves soon, so that the end can be looked at.
export OSB_SOCKET="$work/osbd.sock" OSB_IDLE_EXIT=3s

tests=0
failed=0

ok() {
	tests=$((tests + 1))
	echo "ok - $1"
}

not_ok() {
	tests=$((tests + 1))
	failed=$((failed + 1))
	printf 'not ok - %s: %s\n' "$1" "$(printf '%s' "$2" | tr '\n' ' ')"
}

# is CLAIM GOT WANTED - a test: are they the same?
is() {
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1" "'$2' instead of '$3'; $(why)"
	fi
}

# between CLAIM LOW GOT HIGH - a test of whole numbers; no number is none
between() {
	case $3 in
	'' | *[!0-9]*) not_ok "$1" "'$3' is no number; $(why)" ;;
	*)
		if [ "$2" -le "$3" ] && [ "$3" -le "$4" ]; then
			ok "$1"
		else
			not_ok "$1" "$3 isn't in $2..$4; $(why)"
		fi
		;;
	esac
}

# run ARG... - osb run; gives $code, $out, $err
run() {
	timeout -k 5 "$patience" "$build/osb" run "$@" \
		>"$work/out" 2>"$work/err"
	code=$?
	out=$(head -c 2000 "$work/out")
	err=$(head -c 300 "$work/err")
}

# What the last run said about itself, in one line.
why() {
	printf 'exit code %s, stderr %s' "$code" "$err"
	member message | sed 's/^./, message &/'
}

# member NAME - of the object that --json printed; plain ones only
member() {
	printf '%s\n' "$out" |
		sed -n 's/.*"'"$1"'":"\{0,1\}\([^",}]*\)[",}].*/\1/p'
}

# hit LIMIT - is it among those that were run into?
hit() {
	case $out in
	*'"limits_hit":['*"\"$1\""*']'*) echo hit ;;
	*) echo 'not hit' ;;
	esac
}

# until_so COMMAND... - wait until it succeeds; fails after a while
until_so() {
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ "$tries" -lt $((patience * 5)) ] || return 1
		sleep 0.2
	done
}

# count ARGUMENT - processes on this machine that run `sleep ARGUMENT`
count() {
	ps -e -o args= | grep -c "^sleep $1\$"
}

at_least() { [ "$(count "$2")" -ge "$1" ]; }
none() { [ "$(count "$1")" -eq 0 ]; }

# request METHOD PATH BODY - HTTP over the daemon's socket; prints the answer
request() {
	timeout "$patience" python3 -c '
import socket, sys
path, method, target, body = sys.argv[1:]
peer = socket.socket(socket.AF_UNIX)
peer.connect(path)
peer.sendall((
    f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    "Content-Type: application/json\r\n"
    f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
while piece := peer.recv(65536):
    sys.stdout.write(piece.decode(errors="replace"))
' "$OSB_SOCKET" "$@"
}

# first_id - of the sandboxes there are
first_id() {
	"$build/osb" ps --json 2>/dev/null </dev/null |
		sed -n 's/^[^"]*"id" *: *"\([0-9a-f]*\)".*/\1/p' | head -n 1
}

# has_ended PID - a child of ours that is to be waited for
has_ended() {
	case $(ps -o stat= -p "$1") in
	'' | Z*) return 0 ;;
	*) return 1 ;;
	esac
}

# The first one; without it there is no point in the others.
test_a_program_runs() {
	run -- echo hello </dev/null
	is 'a program runs in a sandbox' "$out" hello
	[ "$code" -ne 125 ]
}

test_programs_run() {
	run -- sh -c 'echo out; echo err >&2' </dev/null
	is 'stdout and stderr are apart' "$out $err" 'out err'
	run -- sh -c 'exit 7' </dev/null
	is 'the exit code is passed on' "$code" 7
	run -- sh -c 'kill -TERM $$' </dev/null
	is 'a signal gives 128 and its number' "$code" 143
	run -- /no/such/program </dev/null
	is 'a program that is not there gives 127' "$code" 127
	run -- python3 -c 'print(6 * 7)' </dev/null
	is 'Python runs' "$out" 42
	printf 'a\nb\n' >"$work/in"
	run -- cat <"$work/in"
	is 'stdin gets through' "$out" "$(cat "$work/in")"
	head -c 5000000 /dev/urandom >"$work/in"
	run -- sha256sum <"$work/in"
	is 'megabytes of it are the same' "$out" "$(sha256sum <"$work/in")"
	run -- id -u </dev/null
	is 'the user is not root' "$out" 1000
	run --copy "$work/in:copied" -- sha256sum copied </dev/null
	is 'a file is copied in' "${out%% *}" \
		"$(sha256sum <"$work/in" | cut -d ' ' -f 1)"
}

test_several_at_once() {
	for n in 1 2 3 4; do
		timeout "$patience" "$build/osb" run -- sh -c "echo $n" \
			</dev/null >"$work/at-once.$n" 2>&1 &
	done
	wait
	is 'four sandboxes at once run' \
		"$(cat "$work"/at-once.? | tr '\n' ' ')" '1 2 3 4 '
}

test_memory() {
	run --json --memory 64Mi -- tail /dev/zero </dev/null
	is 'more memory than the limit is oom' "$(member verdict)" oom
	is 'the report names the limit of memory' "$(hit memory)" hit
	between 'the peak of memory is at the limit' 50000000 \
		"$(member peak_memory_bytes)" 67108864
	run --json --memory 256Mi -- sh -c \
		'head -c 64M /dev/zero | tail | wc -c' </dev/null
	is 'less memory than the limit is no oom' "$(member verdict) $(member stdout)" \
		'exited 67108864\n'
	between 'the peak of memory is what was used' 67108864 \
		"$(member peak_memory_bytes)" 134217728
	run --json --memory 64Mi -- sh -c \
		'for n in 1 2 3 4; do (head -c 30M /dev/zero | tail) & done |
		wc -c; wait' </dev/null
	is 'the limit of memory is for all processes together' "$(hit memory)" hit
	run --memory 64Mi --shm 64Mi --disk 16Mi -- sh -c \
		'head -c 100M /dev/zero >/dev/shm/x && echo written' </dev/null
	is 'what lies in /dev/shm counts' "$code $out" '137 '
	run -- echo hello </dev/null
	is 'after an oom the next sandbox runs' "$out" hello
}

test_pids() {
	run --json --pids 32 --timeout 20s -- sh -c \
		'exec 2>/dev/null; while :; do sleep 1000 & done' </dev/null
	is 'a fork loop ends at the limit' "$(member verdict)" pids_limit
	is 'the report names the limit of pids' "$(hit pids)" hit
	between 'a fork loop has most of its pids' 20 "$(member peak_pids)" 32
	run --json --pids 64 --timeout 5s -- sh -c \
		'exec 2>/dev/null; f() { f | f & }; f; sleep 1000' </dev/null
	is 'a fork bomb is ended' "$(member verdict)" wall_timeout
	between 'a fork bomb never has more than its pids' 30 "$(member peak_pids)" 64
	run --json --cpu-time 500ms --timeout 20s -- sh -c \
		'while :; do :; done' </dev/null
	is 'a busy loop ends with its cpu time' "$(member verdict)" cpu_timeout
	run -- echo hello </dev/null
	is 'after a fork bomb echo runs' "$out" hello
}

# A second program must start in a sandbox whose first one took all pids.
test_echo_in_a_full_sandbox() {
	claim='echo runs in a sandbox that is full'
	filled='not filled'
	timeout -k 5 "$patience" "$build/osb" run --pids 32 -- sh -c \
		'(while :; do sleep 300.0431 & done) 2>/dev/null
		exec sleep 300.0432' </dev/null >"$work/out" 2>"$work/err" &
	pid=$!
	if until_so at_least_or_ended 20 300.0431 "$pid" &&
		until_so at_least_or_ended 1 300.0432 "$pid" &&
		id=$(first_id) && [ -n "$id" ]; then
		filled=filled
		answer=$(request POST \
			"/v1/sandboxes/$id/proxy/44772/command" \
			'{"command": "echo fine"}' 2>&1)
		case $answer in
		*'"fine'*) ok "$claim" ;;
		*) not_ok "$claim" "$answer" ;;
		esac
		"$build/osb" rm "$id" </dev/null >"$work/rm" 2>&1
		is 'osb rm ends a sandbox' "$? $(cat "$work/rm")" '0 '
	else
		not_ok "$claim" "it didn't fill: $(cat "$work/err")"
		not_ok 'osb rm ends a sandbox' 'none to end'
		kill "$pid" 2>/dev/null
	fi
	wait "$pid"
	until_so none 300.0431
	is 'osb rm ends all that ran in it' "$filled $(count 300.0431) $(count 300.0432)" \
		'filled 0 0'
}

# Ends the waiting early, with 1, when there is nothing to wait for.
at_least_or_ended() {
	at_least "$1" "$2" && return 0
	has_ended "$3" && tries=$((patience * 5))
	return 1
}

# share CPUS SECONDS - of one processor, in percent, that a busy loop gets
share() {
	run --json --cpus "$1" -- timeout "$2" sh -c \
		'while :; do :; done' </dev/null
	cpu_ms=$(member cpu_ms)
	wall_ms=$(member wall_ms)
	case $cpu_ms,$wall_ms in
	,* | *, | *,0 | *[!0-9,]*) percent= ;;
	*) percent=$((cpu_ms * 100 / wall_ms)) ;;
	esac
}

test_cpus() {
	share 0.2 5
	between 'a fifth of a processor is about that' 10 "$percent" 35
	share 1 3
	between 'a whole processor is more' 50 "$percent" 115
}

test_the_size_is_shown() {
	run --memory 192Mi --cpus 1 -- sh -c \
		'env -u OMP_NUM_THREADS nproc; getconf _PHYS_PAGES; grep -c ^cpu[0-9] /proc/stat
		grep -c ^processor /proc/cpuinfo
		awk "/^MemTotal/{print \$2}" /proc/meminfo' </dev/null
	is "a program sees its sandbox's size" \
		"$(printf '%s' "$out" | tr '\n' ' ')" '1 49152 1 1 196608'
	# shellcheck disable=SC2016 # its own, inside
	run --memory 192Mi -- python3 -c '
import time
held = b"x" * (64 << 20)
end = time.monotonic() + 30
while time.monotonic() < end:
    free = int(open("/proc/meminfo").read().split()[4])
    if free < 130 << 10:
        break
    time.sleep(0.1)
print(free < 130 << 10)' </dev/null
	is 'what it uses shows while it runs' "$out" True
}

# Five processes that a signal to the process group would miss in part.
tree='setsid sleep 300.0421 &
	(setsid sh -c "sleep 300.0421 & sleep 300.0421" &)
	nohup sleep 300.0421 >/dev/null 2>&1 &
	trap "" TERM INT HUP
	sleep 300.0421'

# start_tree OPTION... - as $pid, a child of ours
start_tree() {
	timeout -k 5 "$patience" "$build/osb" run "$@" -- sh -c "$tree" \
		</dev/null >"$work/out" 2>"$work/err" &
	pid=$!
	until_so at_least_or_ended 5 300.0421 "$pid"
	started=$(count 300.0421)
}

# tree_ended CLAIM - a test
tree_ended() {
	err=$(head -c 300 "$work/err")
	until_so none 300.0421
	is "$1" "$started ran, $(count 300.0421) left" '5 ran, 0 left'
}

test_the_tree_is_killed() {
	start_tree --timeout 8s
	wait "$pid"
	code=$?
	is 'a tree of processes out of time gives 124' "$code" 124
	tree_ended 'a deadline ends every descendant'

	start_tree
	# timeout(1) can't pass SIGKILL on, so osb itself gets it.
	osb=$(ps -o pid= --ppid "$pid" | tr -d ' ')
	kill -KILL "${osb:-$pid}" 2>/dev/null
	wait "$pid" 2>/dev/null
	code=$?
	tree_ended 'an osb that is killed leaves no descendant'
}

test_disk() {
	run --disk 16Mi -- sh -c 'head -c 64M /dev/zero >x' </dev/null
	case $code,$err in
	1,*'No space left on device'*) ok 'a full disk in memory is ENOSPC' ;;
	*) not_ok 'a full disk in memory is ENOSPC' "$(why)" ;;
	esac
	run --disk 16Mi -- sh -c \
		'head -c 15M /dev/zero >x && stat -c %s x' </dev/null
	is 'a disk in memory can be used' "$out" 15728640
	run --inodes 100 -- sh -c \
		'n=0; while : >"$n"; do n=$((n + 1)); done' </dev/null
	case $err in
	*'No space left on device'*) ok 'no inode left is ENOSPC' ;;
	*) not_ok 'no inode left is ENOSPC' "$(why)" ;;
	esac
}

# More than half of the memory: the files can't lie there.
test_disk_on_disk() {
	run --memory 64Mi --disk 128Mi -- sh -c \
		'head -c 100M /dev/zero >x && stat -c %s x' </dev/null
	is 'a disk larger than the memory can be used' "$out" 104857600
	run --memory 64Mi --disk 128Mi -- sh -c \
		'head -c 200M /dev/zero >x' </dev/null
	case $code,$err in
	1,*'No space left on device'*) ok 'a full disk larger than the memory is ENOSPC' ;;
	*) not_ok 'a full disk larger than the memory is ENOSPC' "$(why)" ;;
	esac
}

test_volumes() {
	echo before >"$volume/file"
	chmod 755 "$volume"
	run --volume "$volume:/data:ro" -- cat /data/file </dev/null
	is 'a read-only volume can be read' "$out" before
	run --volume "$volume:/data:ro" -- sh -c 'echo new >/data/file' \
		</dev/null
	case $err in
	*'Read-only file system'*) ok 'a read-only volume can not be written' ;;
	*) not_ok 'a read-only volume can not be written' "$(why)" ;;
	esac
	run --volume "$volume:/data" -- sh -c \
		'echo after >/data/file && echo made >/data/new && id -u' \
		</dev/null
	is 'a writable volume is written as user sandbox' "$out" 1000
	is 'what was written to a volume is there afterwards' \
		"$(cat "$volume/file" "$volume/new" 2>&1 | tr '\n' ' ')" \
		'after made '
	is 'it belongs to who owns the volume' \
		"$(stat -c %u:%g "$volume/new" 2>&1)" \
		"$(stat -c %u:%g "$volume")"
}

test_deadline() {
	run --timeout 1s -- sleep 300 </dev/null
	is 'a program out of time gives 124' "$code" 124
	run --json --timeout 1s -- sleep 300 </dev/null
	is 'the report says that time was over' "$(member verdict)" wall_timeout
	between 'a program has the time it was given' 1000 "$(member wall_ms)" 4000
}

# What is left when the daemon has gone, one thing per line.
processes() { ps -e -o comm= | grep '^osb'; }

cgroup_roots() {
	sed -n 's/^\([^ ]* \)\{4\}\([^ ]*\) .* - cgroup2* .*/\2/p' \
		/proc/self/mountinfo
}

cgroups() {
	for root in $(cgroup_roots); do
		[ ! -d "$root/opensandbox" ] ||
			find "$root/opensandbox" -mindepth 1 -type d
	done
}

loops() {
	for file in /sys/block/loop*/loop/backing_file; do
		[ ! -e "$file" ] || cat "$file"
	done
}

mounts() { cut -d ' ' -f 5 /proc/self/mountinfo | sort; }

has_no() { [ -z "$("$1")" ]; }

# left CLAIM COMMAND - a test: it comes to print nothing
left() {
	if until_so has_no "$2"; then
		ok "$1"
	else
		not_ok "$1" "$("$2" | head -n 5 | tr '\n' ' ')"
	fi
}

# http METHOD PATH [BODY] - ask the daemon; its answer without the head
http() {
	python3 - "$OSB_SOCKET" "$@" <<-'EOF'
		import socket, sys
		path, method, target, body = (sys.argv[1:] + [""])[:4]
		daemon = socket.socket(socket.AF_UNIX)
		daemon.connect(path)
		daemon.sendall(f"{method} {target} HTTP/1.1\r\nHost: osb\r\n"
		               f"Content-Length: {len(body)}\r\n"
		               f"Connection: close\r\n\r\n{body}".encode())
		answer = b"".join(iter(lambda: daemon.recv(65536), b""))
		print(answer.partition(b"\r\n\r\n")[2].decode())
	EOF
}

field() { sed -n "s/.*\"$1\": *\"\{0,1\}\([^\",}]*\).*/\1/p" | head -n 1; }

# Its block's cgroups are there already: the launcher takes another way in.
test_a_broker_is_followed_by_another() {
	export OSB_IDLE_EXIT=60s
	"$build/osb" ps >/dev/null 2>&1
	id=$(http POST /v1/sandboxes '{"image": {"uri": "host"},
		"entrypoint": ["tail", "-f", "/dev/null"],
		"resourceLimits": {}, "timeout": 600}' | field id)
	execd=/sandboxes/$id/proxy/44772
	command=$(http POST "$execd/command" '{"background": true,
		"command": "echo one; sleep 8; echo two; exit 5"}' |
		field text)
	pkill -KILL -x osb-broker
	until_so has_no broker
	"$build/osb" ps >/dev/null 2>&1
	is 'a sandbox outlives its broker' \
		"$(http GET "/v1/sandboxes/$id" | field state)" Running
	until_so has_ended
	is 'so does a command: its status' \
		"$(http GET "$execd/command/status/$command" |
			field exit_code)" 5
	is 'and its output' \
		"$(http GET "$execd/command/$command/logs" | tr '\n' ' ')" \
		'one two  '
	run --timeout 60s -- echo again
	is 'the next sandbox of its domain starts' "$out" again
	http DELETE "/v1/sandboxes/$id" >/dev/null
	http DELETE "/v1/sandboxes/$id" | grep -q NOT_FOUND &&
		ok 'it can be deleted' || not_ok 'it can be deleted' "$(why)"
	pkill -TERM -x osb-broker
	until_so has_no broker
	export OSB_IDLE_EXIT=3s
}

broker() { pgrep -x osb-broker; }

has_ended() {
	http GET "$execd/command/status/$command" | grep -q '"running":false'
}

# The kernel's own bugs, if what we do wakes them.
complaints() {
	dmesg | grep -E 'BUG:|WARNING:|Oops|general protection|blocked for more'
}

new_complaints() { complaints | tail -n "+$((complaints_before + 1))"; }

new_mounts() { mounts | comm -13 "$work/mounts" -; }

test_nothing_is_left() {
	is 'no sandbox is left' "$("$build/osb" ps --json </dev/null 2>&1)" '[]'
	left 'no process is left' processes
	left 'no cgroup is left but the empty parent' cgroups
	left 'no loop device is left' loops
	left 'no mount is left' new_mounts
	is 'no file is left in the run directory' \
		"$(cd "$OSB_SOCKET.d" && find . ! -type d ! -name log \
			! -name start.lock ! -path './state/*')" ''
	is 'the kernel complains about nothing' \
		"$(new_complaints | head -n 5)" ''
}

mounts >"$work/mounts"
complaints_before=$(complaints | wc -l)
if test_a_program_runs; then
	test_programs_run
	test_several_at_once
	test_memory
	test_pids
	test_echo_in_a_full_sandbox
	test_cpus
	test_the_size_is_shown
	test_deadline
	test_the_tree_is_killed
	test_disk
	test_disk_on_disk
	test_volumes
	test_a_broker_is_followed_by_another
else
	not_ok 'the other programs run' 'not tried, as none runs'
fi
test_nothing_is_left

if [ "$failed" -gt 0 ] && [ -s "$OSB_SOCKET.d/log" ]; then
	echo '# the last lines of the log:'
	sort -u "$OSB_SOCKET.d/log" | tail -n 20 | sed 's/^/# /'
fi
echo "1..$tests"
[ "$failed" -eq 0 ]
