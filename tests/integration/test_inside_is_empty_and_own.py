# SPDX-License-Identifier: Apache-2.0
"""What a program finds inside: a clean place with nothing of the host."""

import os
import socket


def test_the_workspace_is_the_start_and_empty(daemon):
    done = daemon.sh("pwd; ls -A | wc -l; touch x && echo writable")
    assert done.out.split() == ["/workspace", "0", "writable"]


def test_the_user_is_sandbox_1000(daemon):
    done = daemon.sh("id -u; id -g; id -un; id -G; umask")
    assert done.out.split() == ["1000", "1000", "sandbox", "1000", "0022"]


def test_root_and_other_users_are_a_choice(daemon):
    assert daemon.run("--user", "root", "--", "id", "-u").out == "0\n"
    assert daemon.run("--user", "sandbox", "--", "id", "-u").out == "1000\n"
    assert daemon.run("--user", "1234", "--", "id", "-u").out == "1234\n"
    done = daemon.sh("id -u; id -g", "--user", "1234:4321")
    assert done.out.split() == ["1234", "4321"]


def test_the_hostname_is_its_own(daemon):
    name = daemon.run("--", "hostname").out.strip()
    assert name
    assert name != socket.gethostname()


def test_proc_shows_its_own_processes_only(daemon):
    done = daemon.sh("ls -d /proc/[0-9]* | wc -l; cat /proc/[0-9]*/comm")
    count, *names = done.out.split()
    assert int(count) <= 5
    assert not {"osbd", "osb-broker", "systemd", "pytest"} & set(names)


def test_lo_is_the_only_interface_and_is_up(daemon):
    done = daemon.python(
        "import socket; print([n for _, n in socket.if_nameindex()]);"
        "s = socket.create_server(('127.0.0.1', 0));"
        "c = socket.create_connection(s.getsockname()); print('up')"
    )
    assert done.out == "['lo']\nup\n", done


def test_ipv6_loopback_is_all_there_is_of_ipv6(daemon):
    done = daemon.sh("cut -d' ' -f6- /proc/net/if_inet6 | tr -d ' '")
    assert set(done.out.split()) <= {"lo"}


def test_nothing_of_the_host_but_the_image(daemon):
    expected = {
        "bin", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32",
        "libo32", "opt", "proc", "root", "run", "sbin", "srv", "sys", "tmp",
        "usr", "var", "workspace", "mnt", "media", "boot",
    }  # fmt: skip
    done = daemon.run("--user", "root", "--", "ls", "-A", "/")
    assert set(done.out.split()) <= expected, done
    script = (
        "for d in home root srv run mnt media boot var/lib; do "
        "[ ! -d /$d ] || find /$d -xdev -type f; done"
    )
    done = daemon.sh(script, "--user", "root")
    assert done.out == "", "files of the host in its private places"


def test_etc_is_synthetic(daemon):
    done = daemon.sh("cut -d: -f1 /etc/passwd; ls -A /etc", "--user", "root")
    names = done.out.split()
    assert {"root", "sandbox"} <= set(names)
    for name in ("shadow", "gshadow", "sudoers", "ssh"):
        assert name not in names, name


def test_the_machine_id_is_not_the_hosts(daemon):
    inside = daemon.sh("cat /etc/machine-id 2>/dev/null").out.strip()
    try:
        with open("/etc/machine-id") as file:
            assert inside != file.read().strip() or inside == ""
    except FileNotFoundError:
        pass


def test_etc_has_what_programs_need(daemon):
    for name in ("passwd", "group", "hosts", "resolv.conf", "ld.so.cache"):
        assert daemon.run("--", "test", "-e", f"/etc/{name}").code == 0, name
    if os.path.isdir("/etc/ssl/certs"):
        assert daemon.run("--", "test", "-d", "/etc/ssl/certs").code == 0
    if os.path.isdir("/etc/alternatives"):
        done = daemon.run("--", "test", "-d", "/etc/alternatives")
        assert done.code == 0
    done = daemon.python("import socket; print(socket.gethostbyname('localhost'))")
    assert done.out == "127.0.0.1\n", done


def test_the_environment_is_not_the_callers(daemon):
    done = daemon.run("--", "env", env={"SECRET_OF_CALLER": "hunter2"})
    assert "hunter2" not in done.out
    names = {line.split("=", 1)[0] for line in done.out.splitlines()}
    assert {"PATH", "HOME"} <= names
    assert not {n for n in names if n.startswith(("OSB_", "XDG_", "SSH_"))}


def test_no_descriptor_leaks_in(daemon):
    done = daemon.python("import os; print(sorted(os.listdir('/proc/self/fd')))")
    assert done.out == "['0', '1', '2', '3']\n", "3 is the listing itself"


def test_dev_is_minimal(daemon):
    done = daemon.run("--user", "root", "--", "ls", "-A", "/dev")
    allowed = {
        "null", "zero", "full", "random", "urandom", "tty", "fd", "stdin",
        "stdout", "stderr", "shm", "pts", "ptmx", "mqueue", "core", "console",
    }  # fmt: skip
    assert {"null", "zero", "urandom", "shm"} <= set(done.out.split())
    assert set(done.out.split()) <= allowed, done


def test_tmp_and_shm_are_writable_and_the_system_is_not(daemon):
    script = (
        "echo x >/tmp/x && echo x >/dev/shm/x && echo x >/workspace/x &&"
        "for d in /usr /usr/bin /bin /lib /etc/ssl /proc /sys; do"
        " ! touch $d/x 2>/dev/null || echo wrote $d; done; cat /tmp/x"
    )
    assert daemon.sh(script).out == "x\n"
    script = "! touch /usr/x 2>/dev/null && ! touch /usr/bin/x 2>/dev/null"
    assert daemon.sh(script, "--user", "root").code == 0


def test_the_hosts_disks_are_not_listed(daemon):
    assert daemon.run("--", "cat", "/proc/partitions").out == ""


def test_programs_are_scheduled_like_any_others(daemon):
    done = daemon.python(
        "import os; print(os.sched_getscheduler(0), os.nice(0))"
    )
    assert done.out == "0 0\n"


def test_no_signal_is_ignored_or_blocked(service):
    deaf = ["sh", "-c", "trap '' HUP INT TERM USR1; exec \"$@\"", "sh"]
    own = service("--private", wrapper=deaf)
    done = own.run("--", "grep", "-E", "Sig(Ign|Blk)", "/proc/self/status")
    assert done.out.split() == ["SigBlk:", "0" * 16, "SigIgn:", "0" * 16]
