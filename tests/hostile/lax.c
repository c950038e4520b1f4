/* SPDX-License-Identifier: Apache-2.0 */

/*
 * lax - osb-broker without one of its checks, for the tests' controls
 *
 * Linked with the broker's own objects and --wrap for each function below.
 * OSB_LAX names the check to leave out; all others stay. A test that says "the
 * broker refuses this attack" is worth something only if the attack does harm
 * where that one check is missing. Never installed.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "broker/broker.h"
#include "confine/confine.h"
#include "wire/fdpass.h"

/* By the linker's --wrap: the product's own, and what is called instead. */
#define WRAP(type, name, ...)            \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

static bool is_lax(const char *check)
{
	const char *chosen = getenv("OSB_LAX");

	return chosen && strcmp(chosen, check) == 0;
}

WRAP(int, plan_check_spec, const struct broker_create *in_spec, struct err *err)
{
	return is_lax("spec") ? 0 : __real_plan_check_spec(in_spec, err);
}

WRAP(bool, volume_policy_check, const struct native_config *config, int fd,
     const char *path, bool read_only)
{
	return is_lax("volume") ||
	       __real_volume_policy_check(config, fd, path, read_only);
}

WRAP(int, child_open, const struct native *native, pid_t in_pid, int cgroup_fd,
     int *ret_pidfd)
{
	if (!is_lax("child"))
		return __real_child_open(native, in_pid, cgroup_fd, ret_pidfd);
	*ret_pidfd = pidfd_open(in_pid, 0);
	return *ret_pidfd < 0 ? -errno : 0;
}

WRAP(void, fdpass_refuse, int sock_fd)
{
	if (!is_lax("fds") && !is_lax("sender") && !is_lax("close"))
		__real_fdpass_refuse(sock_fd);
}

/* fds: takes what comes, and forgets it; close: and closes it. */
WRAP(int, fdpass_recv, int sock_fd, void *msg, size_t size, int flags,
     size_t *ret_len, struct fdset *ret_fds)
{
	struct fdset lost = FDSET_NULL;
	bool takes = !ret_fds && (is_lax("fds") || is_lax("close"));
	int r = __real_fdpass_recv(sock_fd, msg, size, flags, ret_len,
				   takes ? &lost : ret_fds);

	if (is_lax("close"))
		fdset_close(&lost);
	return r;
}

/* length: whatever came counts as complete, with what came before it. */
WRAP(void, table_answer, struct broker *broker, const void *in_msg, size_t len)
{
	const uint32_t *op = in_msg;

	if (is_lax("length") && *op == BROKER_DESTROY)
		len = sizeof(struct broker_destroy);
	if (is_lax("state"))
		broker->front.state = FRONT_READY;
	__real_table_answer(broker, in_msg, len);
}

/* reader: waits for an osbd that doesn't read. */
WRAP(void, front_send, struct front *front, const void *msg, size_t len)
{
	if (is_lax("reader") && front->sock_fd >= 0) {
		while (fdpass_send(front->sock_fd, msg, len, NULL, 0) ==
		       -EAGAIN)
			(void)usleep(1000);
		return;
	}
	__real_front_send(front, msg, len);
}

/* end: an osbd that closed its end may stay. */
WRAP(void, front_drop, struct front *front)
{
	if (!is_lax("end"))
		__real_front_drop(front);
}

/* patience: whoever may leave takes the time that it likes. */
WRAP(int, front_patience, struct front *front)
{
	return is_lax("patience") ? -1 : __real_front_patience(front);
}

WRAP(int, confine_daemon, uint32_t uid, uint32_t gid)
{
	return is_lax("privileges") ? 0 : __real_confine_daemon(uid, gid);
}
