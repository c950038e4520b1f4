/* SPDX-License-Identifier: Apache-2.0 */

#include "bench/drive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/rd.h"
#include "wire/fdpass.h"

static void fail(const char *what, int r)
{
	(void)fprintf(stderr, "drive: %s: %s\n", what, strerror(-r));
	exit(1);
}

uint32_t drive_call(const void *msg, size_t len, struct broker_answer *answer)
{
	const uint32_t *head = msg;
	size_t got;
	int r;

	r = fdpass_send(OSBD_FD_BROKER, msg, len, NULL, 0);
	if (r < 0)
		fail("send to the broker", r);
	do {
		r = fdpass_recv(OSBD_FD_BROKER, answer, sizeof(*answer), 0,
				&got, NULL);
		if (r < 0 || got == 0)
			fail("hear from the broker", r ? r : -ECONNRESET);
	} while (answer->op != BROKER_ANSWER || answer->tag != head[1]);
	return answer->kind;
}

void drive_hello(void)
{
	const struct broker_hello hello = { .op = BROKER_HELLO, .tag = 1 };
	struct broker_answer answer;

	if (drive_call(&hello, sizeof(hello), &answer))
		fail(answer.msg, -answer.sys);
}

void drive_spec(struct broker_create *spec)
{
	static uint32_t tag = 100;
	uint8_t random[SANDBOX_ID_LEN / 2];

	memset(spec, 0, sizeof(*spec));
	spec->op = BROKER_CREATE;
	spec->tag = tag++;
	spec->limits = (struct limits)LIMITS_DEFAULTS;
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		fail("getrandom", -errno);
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(spec->id + 2 * i, 3, "%02x", random[i]);
	(void)snprintf(spec->domain, sizeof(spec->domain), "bench");
	(void)snprintf(spec->image, sizeof(spec->image), "host");
}

void drive_create(const struct broker_create *spec)
{
	struct broker_answer answer;

	if (drive_call(spec, sizeof(*spec), &answer))
		fail(answer.msg, -answer.sys);
}

void drive_destroy(const char *id)
{
	struct broker_destroy msg = { .op = BROKER_DESTROY, .tag = 2 };
	struct broker_answer answer;

	memcpy(msg.id, id, sizeof(msg.id));
	if (drive_call(&msg, sizeof(msg), &answer))
		fail(answer.msg, -answer.sys);
}

int drive_connect(const char *id)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path),
		       "/proc/self/fd/%d/%s.sock", OSBD_FD_SANDBOXES, id);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		fail("connect to init", -errno);
	return fd;
}

static size_t pack_exec(uint8_t *msg, size_t size, uint32_t uid,
			const char *const *argv)
{
	static uint32_t exec_id;
	struct init_exec head = {
		.op = INIT_EXEC,
		.exec_id = ++exec_id,
		.flags = INIT_EXEC_STDOUT | INIT_EXEC_STDERR,
		.uid = uid,
		.gid = uid,
		.envc = 1,
	};
	struct wr wr;

	while (argv[head.argc])
		head.argc++;
	wr_init(&wr, msg, size);
	wr_bytes(&wr, &head, sizeof(head));
	wr_str(&wr, "/workspace");
	for (uint32_t i = 0; i < head.argc; i++)
		wr_str(&wr, argv[i]);
	wr_str(&wr, "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin");
	return (size_t)(wr.p - msg);
}

void drive_exec(int init_fd, uint32_t uid, const char *const *argv,
		struct init_exited *ret_exited)
{
	const int fds[] = { STDOUT_FILENO, STDERR_FILENO };
	uint8_t msg[4096];
	size_t len = pack_exec(msg, sizeof(msg), uid, argv);
	int r;

	r = fdpass_send(init_fd, msg, len, fds, ARRAY_SIZE(fds));
	if (r < 0)
		fail("send to init", r);
	do {
		const struct init_failed *failed = (const void *)msg;

		r = fdpass_recv(init_fd, msg, sizeof(msg), 0, &len, NULL);
		if (r < 0 || len == 0)
			fail("hear from init", r ? r : -ECONNRESET);
		if (failed->op == INIT_FAILED) {
			(void)fprintf(stderr, "stage %u: ", failed->stage);
			fail(argv[0], -failed->sys);
		}
	} while (*(uint32_t *)(void *)msg != INIT_EXITED);
	memcpy(ret_exited, msg, sizeof(*ret_exited));
}
