/* SPDX-License-Identifier: Apache-2.0 */

/*
 * init-link - what a sandbox's init says to osbd
 *
 * Input: lines, each a letter and numbers; the first number chooses an exec.
 * n: start one. l: one with a log. a EXEC ID: take one up that has this id.
 * k: kill it. A: acknowledge it. L EXEC MS: how long the sandbox lives.
 * S EXEC PID: init says started. F EXEC STAGE SYS: failed. E EXEC VERDICT
 * EXIT_CODE SIGNAL NUM_LEFT: exited. G: grew. Y: synced. r BYTES: any other
 * message. x: the next callback closes the link. e: init closes it.
 */

#include <fcntl.h>
#include <sys/socket.h>

#include "base/err.h"
#include "fake.h"
#include "fuzz.h"
#include "sandbox/init_link.h"
#include "sandbox/strv.h"

#define EXECS 8

/* What osbd's side of one exec has heard. */
struct heard {
	bool used, logged, attached, started, over;
	uint32_t id;
	struct exec *exec;
};

static struct heard heard[EXECS];
static struct init_link *tested;
static bool close_in_callback;
static int peer_fd;

static void close_if_asked(void)
{
	struct init_link *closing = tested;

	if (!close_in_callback)
		return;
	close_in_callback = false;
	tested = NULL;
	init_link_close(closing);
}

static void on_started(void *ctx, int32_t pid)
{
	struct heard *h = ctx;

	CHECK(!h->started && !h->over && pid > 0);
	h->started = true;
	close_if_asked();
}

static void on_failed(void *ctx, enum init_stage stage, int sys)
{
	struct heard *h = ctx;

	CHECK(!h->started && !h->attached && !h->over && sys >= 0);
	CHECK(stage >= INIT_STAGE_REQUEST && stage < INIT_NUM_STAGES);
	h->over = true;
	close_if_asked();
}

static void on_exited(void *ctx, const struct init_exited *exited)
{
	struct heard *h = ctx;

	CHECK((h->started || h->attached) && !h->over);
	CHECK(exited->verdict > VERDICT_LOST && exited->verdict < VERDICT_NUM);
	CHECK(exited->signal >= 0 && exited->signal <= 64);
	CHECK(exited->exit_code >= -1 && exited->exit_code <= 255);
	CHECK((exited->signal != 0) == (exited->exit_code == -1));
	CHECK(exited->verdict != VERDICT_EXITED || exited->signal == 0);
	CHECK(exited->verdict != VERDICT_SIGNALED || exited->signal > 0);
	CHECK(exited->num_left <= INIT_LEFT_MAX);
	for (uint32_t i = 0; i < exited->num_left; i++)
		CHECK(strnlen(exited->left[i].comm, INIT_COMM_LEN) <
		      INIT_COMM_LEN);
	h->over = true;
	close_if_asked();
}

static void on_lost(void *ctx)
{
	struct heard *h = ctx;

	CHECK(!h->over);
	h->over = true;
	close_if_asked();
}

static void on_grew(void *ctx)
{
	const struct heard *h = ctx;

	CHECK((h->started || h->attached) && h->logged && !h->over);
	close_if_asked();
}

static const struct exec_ops ops = {
	.started = on_started,
	.failed = on_failed,
	.exited = on_exited,
	.lost = on_lost,
	.grew = on_grew,
};

/* Starts one and reads at init's end under which number. */
static void start_exec(struct heard *h, bool logged)
{
	struct strv argv auto_clean(strv_deinit) = { 0 };
	struct strv env auto_clean(strv_deinit) = { 0 };
	struct exec_spec spec = {
		.cwd = "/",
		.argv = &argv,
		.env = &env,
		.flags = logged ? INIT_EXEC_LOG : 0,
		.log_max = logged,
	};
	struct init_exec head;

	if (h->used || !tested)
		return;
	strv_init(&argv, 4, 64);
	strv_init(&env, 4, 64);
	CHECK(strv_add(&argv, "true") == 0);
	if (init_link_exec(tested, &spec, &ops, h, &h->exec, NULL) < 0) {
		CHECK(init_link_broken(tested));
		return;
	}
	h->used = true;
	h->logged = logged;
	do { /* what nobody read yet comes first */
		CHECK(recv(peer_fd, &head, sizeof(head), 0) > 0);
	} while (head.op != INIT_EXEC);
	CHECK(head.argc == 1 && head.envc == 0);
	h->id = head.exec_id;
}

static void attach_exec(struct heard *h, uint32_t id)
{
	if (h->used || !tested ||
	    init_link_attach(tested, id, &ops, h, &h->exec, NULL) < 0)
		return;
	h->used = h->logged = h->attached = true;
	h->id = id;
}

/* What init says goes through the socket, and one turn of the loop. */
static void say(const void *msg, size_t len)
{
	if (peer_fd < 0 || len == 0)
		return;
	(void)send(peer_fd, msg, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	fake_turn();
}

static void say_exited(uint32_t id, char *at)
{
	struct init_exited msg = { .op = INIT_EXITED, .exec_id = id };

	msg.verdict = (uint32_t)strtoul(at, &at, 10);
	msg.exit_code = (int32_t)strtol(at, &at, 10);
	msg.signal = (int32_t)strtol(at, &at, 10);
	msg.num_left = (uint32_t)strtoul(at, &at, 10);
	memset(msg.left, 'x', sizeof(msg.left)); /* names without an end */
	say(&msg, sizeof(msg));
}

static void say_start(uint8_t letter, uint32_t id, char *at)
{
	struct init_started started = { .op = INIT_STARTED, .exec_id = id };
	struct init_failed failed = { .op = INIT_FAILED, .exec_id = id };

	if (letter == 'S') {
		started.pid = (int32_t)strtol(at, &at, 10);
		say(&started, sizeof(started));
		return;
	}
	failed.stage = (uint32_t)strtoul(at, &at, 10);
	failed.sys = (int32_t)strtol(at, &at, 10);
	say(&failed, sizeof(failed));
}

static void say_head(enum init_op op, uint32_t id)
{
	const struct init_head head = { .op = op, .exec_id = id };

	say(&head, sizeof(head));
}

/* What osbd does. Return: whether the letter means that. */
static bool act_as_osbd(uint8_t letter, struct heard *h, char *at)
{
	switch (letter) {
	case 'n':
	case 'l':
		start_exec(h, letter == 'l');
		return true;
	case 'a':
		attach_exec(h, (uint32_t)strtoul(at, &at, 10));
		return true;
	case 'k':
		if (h->used && !h->over)
			exec_kill(h->exec, INIT_KILL_TREE, 9);
		return true;
	case 'A':
		if (tested)
			init_link_ack(tested, h->id);
		return true;
	case 'L':
		if (tested)
			init_link_life(tested, h->used, strtoul(at, &at, 10),
				       NULL, NULL);
		return true;
	default:
		return false;
	}
}

static void act(char *line)
{
	char *at = line + 1;
	unsigned long which = strtoul(at, &at, 10);
	struct heard *h = &heard[which % EXECS];
	uint32_t id = which < EXECS ? h->id : (uint32_t)which;

	if (act_as_osbd((uint8_t)*line, h, at))
		return;
	switch (*line) {
	case 'S':
	case 'F':
		say_start((uint8_t)*line, id, at);
		break;
	case 'E':
		say_exited(id, at);
		break;
	case 'G':
	case 'Y':
		say_head(*line == 'G' ? INIT_GREW : INIT_SYNCED, id);
		break;
	case 'x':
		close_in_callback = true;
		break;
	case 'e':
		close_fd(&peer_fd);
		fake_turn();
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = { data, size };
	int fds[2];

	memset(heard, 0, sizeof(heard));
	close_in_callback = false;
	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
			 0, fds) == 0);
	CHECK(init_link_new(&fake_poller, fds[0], &tested) == 0);
	peer_fd = fds[1];
	start_exec(&heard[0], false);
	while (in.len && tested) {
		const uint8_t *raw = in.p;
		char *line auto_free = fuzz_line(&in);

		if (*raw == 'r')
			say(raw + 1, (size_t)(in.p - raw) - 1);
		else
			act(line);
	}
	init_link_close(tested);
	for (unsigned int i = 0; i < EXECS; i++)
		CHECK(heard[i].used == heard[i].over);
	close_fd(&peer_fd);
	return 0;
}
