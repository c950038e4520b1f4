/* SPDX-License-Identifier: Apache-2.0 */

/*
 * show - programs see the sandbox's size, not the host's
 *
 * Theory of operation. Four files lie over those of /proc: init brings them up
 * to date before a program starts and each second while one runs; while none
 * does nobody looks, and a sandbox costs nothing. Calls that ask for the same
 * (sysinfo, sched_getaffinity) are held by the system call filter until init,
 * who is told through notify_fd, has answered them: one per turn of its loop,
 * so that no number of them keeps it from its other work.
 *
 * Whoever asks is hostile. It may be killed while we answer: the kernel then
 * says ENOENT and nothing is left to do. We write into its memory only after
 * the kernel has confirmed that it still waits, and no further than we are
 * told it is mapped. Between the two it could end, and its number be another's
 * once all numbers have been used in turn: that one belongs to the same
 * sandbox, too.
 *
 * Init itself lives under the same filter and must make neither of the calls,
 * or it would wait for itself; but CONFINE_ASK_KERNEL is passed through.
 *
 * See seccomp_unotify(2).
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "confine/confine.h"
#include "init/init.h"

#define REFRESH_US 1000000u

/* Linux 6.6: who is woken runs on our processor, since we wait for it next. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1ul << 0)
#endif

static uint64_t memory_max(const struct init *init)
{
	char text[32] = "";

	(void)!pread(init->memory_max_fd, text, sizeof(text) - 1, 0);
	return file_number(text);
}

static void write_files(struct init *init)
{
	static size_t (*const make[])(const struct truth *, char *, size_t) = {
		[TRUTH_MEMINFO] = truth_meminfo,
		[TRUTH_STAT] = truth_stat,
		[TRUTH_UPTIME] = truth_uptime,
		[TRUTH_LOADAVG] = truth_loadavg,
	};
	static char text[TRUTH_BYTES(TRUTH_CPUS_MAX)];

	for (unsigned int i = 0; i < TRUTH_NUM_FILES; i++) {
		size_t len = make[i](&init->truth, text, sizeof(text));

		/* Can't fail: there is room, and nobody else has the file. */
		(void)!pwrite(init->truth_fd[i], text, len, 0);
	}
}

static void refresh(struct init *init, uint64_t max, uint64_t now)
{
	char text[2048];
	ssize_t n;

	n = pread(init->memory_stat_fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	truth_set_memory(&init->truth, max, text);
	(void)file_read_at(init->cgroup_fd, "cpu.stat", text, sizeof(text));
	truth_set_cpu(&init->truth, text, now);
	(void)file_read_at(init->pids_fd, "pids.current", text, sizeof(text));
	init->truth.num_tasks = (uint32_t)file_number(text);
	init->truth.boot_s = time(NULL) - (int64_t)(now / 1000000);
	write_files(init);
	init->shown_us = now;
}

void show_limits(struct init *init)
{
	const uint64_t max = memory_max(init);
	const uint64_t now = now_us();

	if (init->shown_us == 0 || max != init->truth.total ||
	    now - init->shown_us >= REFRESH_US)
		refresh(init, max, now);
}

uint64_t show_next_us(const struct init *init)
{
	for (unsigned int i = 0; i < INIT_EXECS_MAX; i++) {
		if (init->execs[i].state == EXEC_RUNNING)
			return init->shown_us + REFRESH_US;
	}
	return 0;
}

void show_running(struct init *init, uint64_t now)
{
	uint64_t next = show_next_us(init);

	if (next && next <= now)
		refresh(init, memory_max(init), now);
}

void show_open(struct init *init)
{
	if (init->notify_fd >= 0)
		(void)ioctl(init->notify_fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
			    SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

/* Return: 0, -EFAULT, or another error if we can't look into it. */
static int give(const struct init *init, const struct seccomp_notif *req,
		uint64_t address, void *data, size_t len)
{
	const struct iovec from = { data, len };
	const struct iovec to = { (void *)(uintptr_t)address, len };
	ssize_t n;

	if (ioctl(init->notify_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &req->id) < 0)
		return -ENOENT;
	n = process_vm_writev((pid_t)req->pid, &from, 1, &to, 1, 0);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EFAULT;
}

static long tell_sysinfo(const struct init *init,
			 const struct seccomp_notif *req)
{
	struct sysinfo info;

	truth_sysinfo(&init->truth, now_us(), &info);
	return give(init, req, req->data.args[0], &info, sizeof(info));
}

/* Of those that it may really run on: so what it chose itself still shows. */
static long tell_affinity(const struct init *init,
			  const struct seccomp_notif *req)
{
	const pid_t pid = (pid_t)req->data.args[0];
	unsigned int len = (unsigned int)req->data.args[1];
	uint8_t mask[1024] = { 0 };
	long n;
	int r;

	if (len > sizeof(mask) && len % sizeof(long) == 0)
		len = sizeof(mask);
	n = syscall(SYS_sched_getaffinity, pid ? pid : (pid_t)req->pid, len,
		    mask, CONFINE_ASK_KERNEL);
	if (n < 0)
		return -errno;
	truth_affinity(mask, (size_t)n, init->truth.cpus);
	r = give(init, req, req->data.args[2], mask, (size_t)n);
	return r < 0 ? r : n;
}

void show_answer(struct init *init)
{
	struct seccomp_notif req = { 0 };
	struct seccomp_notif_resp resp = { 0 };
	long r;

	/* It doesn't block: poll has seen one. If that is gone: ENOENT. */
	if (ioctl(init->notify_fd, SECCOMP_IOCTL_NOTIF_RECV, &req) < 0)
		return;
	r = req.data.nr == SYS_sysinfo ? tell_sysinfo(init, &req)
				       : tell_affinity(init, &req);
	resp.id = req.id;
	if (r == -EPERM) /* its program isn't readable: the host's answer */
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else if (r < 0)
		resp.error = (int32_t)r;
	else
		resp.val = r;
	(void)ioctl(init->notify_fd, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}
