/* SPDX-License-Identifier: Apache-2.0 */

/*
 * init-msg - what init, launcher and broker tell each other
 *
 * Input: a letter. e: an exec, as a line of numbers (flags uid gid argc envc
 * wall_ms num_fds) and then its strings, with '|' for NUL. s: a setup, as a
 * line (pids num_binds extra_bytes num_fds) and then a line per bind. r, S, a
 * and l: the bytes of an exec, setup, answer of init, answer of a launcher.
 */

#include <errno.h>
#include <limits.h>

#include "fuzz.h"
#include "init/request.h"
#include "wire/setup_msg.h"

static struct request request; /* 64 kB of pointers */

/* A string of the message, and where the next one must start. */
static const char *check_string(const char *text, const char *at,
				const char *end)
{
	CHECK(text == at && text < end);
	CHECK(memchr(text, '\0', (size_t)(end - text)));
	return text + strlen(text) + 1;
}

static void check_request(const void *msg, size_t len)
{
	const struct init_exec *head = request.head;
	const char *at = (const char *)(head + 1);
	const char *end = (const char *)msg + len;

	CHECK((const void *)head == msg);
	CHECK(head->argc > 0 && head->argc <= INIT_ARGS_MAX);
	CHECK(head->envc <= INIT_ARGS_MAX);
	CHECK(head->uid < SLOT_IDS && head->gid < SLOT_IDS);
	CHECK(head->wall_ms <= UINT64_MAX / 2000);
	CHECK((head->flags >> 8) == 0);
	CHECK((head->log_max > 0) == !!(head->flags & INIT_EXEC_LOG));
	CHECK(strlen(request.cwd) < PATH_MAX);
	at = check_string(request.cwd, at, end);
	for (uint32_t i = 0; i < head->argc; i++)
		at = check_string(request.argv[i], at, end);
	for (uint32_t i = 0; i < head->envc; i++)
		at = check_string(request.envp[i], at, end);
	CHECK(at == end);
	CHECK(!request.argv[head->argc] && !request.envp[head->envc]);
}

static void check_streams(unsigned int num_fds)
{
	static const int fds[] = { 10, 11, 12, 13, 14 };
	unsigned int want = (unsigned int)__builtin_popcount(
		request.head->flags & ~(uint32_t)INIT_EXEC_FILES);
	int stdio[INIT_EXEC_FDS];
	int r;

	num_fds %= ARRAY_SIZE(fds) + 1;
	r = request_streams(request.head, fds, num_fds, stdio);
	CHECK((r == 0) == (want == num_fds));
	for (unsigned int i = 0; r == 0 && i < 3; i++)
		CHECK((stdio[i] >= 0) == !!(request.head->flags & 1u << i));
}

static void parse_exec(void *msg, size_t len, unsigned int num_fds)
{
	int r = request_parse(msg, len, &request);

	CHECK(r == 0 || r == -EPROTO || r == -EINVAL);
	if (r < 0)
		return;
	check_request(msg, len);
	check_streams(num_fds);
}

static void exec_in_words(struct fuzz *in)
{
	char *line auto_free = fuzz_line(in);
	struct init_exec head = { .op = INIT_EXEC };
	size_t len = sizeof(head) + in->len;
	uint8_t *msg auto_free = malloc(len);
	char *at = line;

	CHECK(msg);
	head.flags = (uint32_t)strtoul(at, &at, 10);
	head.uid = (uint32_t)strtoul(at, &at, 10);
	head.gid = (uint32_t)strtoul(at, &at, 10);
	head.argc = (uint32_t)strtoul(at, &at, 10);
	head.envc = (uint32_t)strtoul(at, &at, 10);
	head.wall_ms = strtoull(at, &at, 10);
	memcpy(msg, &head, sizeof(head));
	for (size_t i = 0; i < in->len; i++)
		msg[sizeof(head) + i] = in->p[i] == '|' ? 0 : in->p[i];
	parse_exec(msg, len, (unsigned int)strtoul(at, &at, 10));
}

static void check_setup(const struct setup *setup, size_t len,
			unsigned int num_fds)
{
	if (setup_check(setup, len, num_fds) < 0)
		return;
	CHECK(setup->num_binds <= SETUP_BINDS_MAX && setup->pids > 0);
	CHECK(setup->cpus > 0 && setup->cpus <= TRUTH_CPUS_MAX);
	CHECK(len == SETUP_BYTES(setup->num_binds));
	CHECK(setup->fds < 1u << SETUP_NUM_FDS);
	CHECK(num_fds ==
	      (unsigned int)__builtin_popcount(setup->fds) + setup->num_binds);
	CHECK(strnlen(setup->hostname, 64) < 64);
	for (uint32_t i = 0; i < setup->num_binds; i++) {
		CHECK(setup->bind[i][0] == '/');
		CHECK(strnlen(setup->bind[i], sizeof(setup->bind[i])) <
		      sizeof(setup->bind[i]));
	}
}

static void setup_in_words(struct fuzz *in)
{
	struct setup *setup auto_free = calloc(1, sizeof(*setup));
	char *line auto_free = fuzz_line(in);
	char *at = line;
	size_t len;

	CHECK(setup);
	memcpy(setup->hostname, "box", sizeof("box"));
	setup->fds = (1u << SETUP_NUM_FDS) - 1;
	setup->cpus = 1;
	setup->pids = (uint32_t)strtoul(at, &at, 10);
	setup->num_binds = (uint32_t)strtoul(at, &at, 10);
	len = SETUP_BYTES(setup->num_binds) + strtoul(at, &at, 10);
	if (len > sizeof(*setup))
		len = sizeof(*setup);
	for (unsigned int i = 0; i < SETUP_BINDS_MAX && in->len; i++) {
		char *bind auto_free = fuzz_line(in);
		size_t n = strlen(bind);

		memcpy(setup->bind[i], bind,
		       n < sizeof(setup->bind[i]) ? n : sizeof(setup->bind[i]));
	}
	check_setup(setup, len, (unsigned int)strtoul(at, &at, 10));
}

static void raw(uint8_t letter, struct fuzz *in)
{
	struct setup_answer answer;
	struct launcher_msg msg;
	struct setup *setup auto_free = NULL;
	void *bytes auto_free = NULL;
	size_t len = in->len;

	if (letter == 'r') {
		bytes = fuzz_take(in, in->len, &len);
		parse_exec(bytes, len, 0);
	} else if (letter == 'S') {
		setup = malloc(sizeof(*setup));
		CHECK(setup);
		fuzz_fill(in, setup, sizeof(*setup));
		check_setup(setup, len, SETUP_NUM_FDS + setup->num_binds);
	} else if (letter == 'a') {
		fuzz_fill(in, &answer, sizeof(answer));
		if (setup_answer_check(&answer, len) == 0)
			CHECK(answer.sys >= 0 &&
			      strnlen(answer.where, 48) < 48);
	} else if (letter == 'l') {
		fuzz_fill(in, &msg, sizeof(msg));
		if (launcher_answer_check(&msg, len, LAUNCHER_CLONED) == 0)
			CHECK(msg.sys >= 0 && msg.pid >= 0 &&
			      strnlen(msg.where, 48) < 48);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = { data, size };
	uint8_t letter = fuzz_byte(&in);

	if (letter == 'e')
		exec_in_words(&in);
	else if (letter == 's')
		setup_in_words(&in);
	else
		raw(letter, &in);
	return 0;
}
