/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "fake.h"
#include "sandbox/init_link.h"
#include "sandbox/strv.h"
#include "wire/fdpass.h"

/* An init that says what the test wants. */
struct fake_init {
	char dir[64];
	char path[128];
	int dir_fd, listen_fd, conn_fd;
	struct init_link *link;
	struct exec *exec;
	uint32_t exec_id;
	struct strv argv, env;
	/* what the callbacks saw */
	int started, failed, exited, lost, grew;
	struct init_exited result;
};

static struct fake_init init;

static void on_started(void *ctx, int32_t pid)
{
	(void)ctx;
	(void)pid;
	init.started++;
}

static void on_failed(void *ctx, enum init_stage stage, int sys)
{
	(void)ctx;
	(void)stage;
	(void)sys;
	init.failed++;
}

static void on_exited(void *ctx, const struct init_exited *exited)
{
	(void)ctx;
	init.exited++;
	init.result = *exited;
}

static void on_lost(void *ctx)
{
	(void)ctx;
	init.lost++;
}

static void on_grew(void *ctx)
{
	(void)ctx;
	init.grew++;
}

static const struct exec_ops ops = {
	.started = on_started,
	.failed = on_failed,
	.exited = on_exited,
	.lost = on_lost,
	.grew = on_grew,
};

static int setup(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	(void)state;
	memset(&init, 0, sizeof(init));
	(void)snprintf(init.dir, sizeof(init.dir), "/tmp/osb-unit-XXXXXX");
	assert_non_null(mkdtemp(init.dir));
	(void)snprintf(init.path, sizeof(init.path), "%s/id.sock", init.dir);
	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", init.path);
	init.dir_fd = open(init.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	init.listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(init.listen_fd, (struct sockaddr *)&addr,
			      sizeof(addr)),
			 0);
	assert_int_equal(listen(init.listen_fd, 4), 0);
	assert_int_equal(init_link_open(&fake_poller, init.dir_fd, "id",
					&init.link, NULL),
			 0);
	init.conn_fd = accept(init.listen_fd, NULL, NULL);
	assert_true(init.conn_fd >= 0);
	strv_init(&init.argv, 10, 1000);
	strv_init(&init.env, 10, 1000);
	assert_int_equal(strv_add(&init.argv, "echo"), 0);
	assert_int_equal(strv_add(&init.argv, "x y"), 0);
	assert_int_equal(strv_set_env(&init.env, "A", "1"), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	init_link_close(init.link);
	strv_deinit(&init.argv);
	strv_deinit(&init.env);
	if (init.conn_fd >= 0)
		(void)close(init.conn_fd);
	(void)close(init.listen_fd);
	(void)close(init.dir_fd);
	(void)unlink(init.path);
	(void)rmdir(init.dir);
	return 0;
}

static void start(void)
{
	struct exec_spec spec = {
		.uid = 1000,
		.gid = 1001,
		.cwd = "/workspace",
		.argv = &init.argv,
		.env = &init.env,
	};
	uint8_t msg[4096];
	struct init_exec head;
	size_t len;

	assert_int_equal(init_link_exec(init.link, &spec, &ops, NULL,
					&init.exec, NULL),
			 0);
	assert_int_equal(fdpass_recv(init.conn_fd, msg, sizeof(msg), 0, &len,
				     NULL),
			 0);
	memcpy(&head, msg, sizeof(head));
	assert_int_equal(head.op, INIT_EXEC);
	assert_int_equal(head.uid, 1000);
	assert_int_equal(head.argc, 2);
	assert_int_equal(head.envc, 1);
	assert_int_equal(len, sizeof(head) + sizeof("/workspace") +
				      sizeof("echo") + sizeof("x y") +
				      sizeof("A=1"));
	assert_memory_equal(msg + sizeof(head), "/workspace\0echo\0x y\0A=1",
			    len - sizeof(head));
	init.exec_id = head.exec_id;
}

static void say(const void *msg, size_t len)
{
	assert_int_equal(fdpass_send(init.conn_fd, msg, len, NULL, 0), 0);
	fake_turn();
}

static void say_started(void)
{
	struct init_started msg = {
		.op = INIT_STARTED,
		.exec_id = init.exec_id,
		.pid = 7,
	};

	say(&msg, sizeof(msg));
}

static struct init_exited honest_end(void)
{
	return (struct init_exited){
		.op = INIT_EXITED,
		.exec_id = init.exec_id,
		.verdict = VERDICT_EXITED,
		.exit_code = 3,
	};
}

static void an_exec_starts_and_ends(void **state)
{
	struct init_exited end;

	(void)state;
	start();
	say_started();
	assert_int_equal(init.started, 1);
	end = honest_end();
	end.num_left = 99;
	memset(end.left[0].comm, 'x', sizeof(end.left[0].comm));
	say(&end, sizeof(end));
	assert_int_equal(init.exited, 1);
	assert_int_equal(init.result.exit_code, 3);
	assert_int_equal(init.result.num_left, INIT_LEFT_MAX);
	assert_int_equal(strlen(init.result.left[0].comm), INIT_COMM_LEN - 1);
}

static void an_exec_that_fails_never_started(void **state)
{
	struct init_failed msg = { .op = INIT_FAILED,
				   .stage = INIT_STAGE_EXEC,
				   .sys = 2 };

	(void)state;
	start();
	msg.exec_id = init.exec_id;
	say(&msg, sizeof(msg));
	assert_int_equal(init.failed, 1);
	assert_false(init_link_broken(init.link));
}

static void a_vanished_init_loses_its_execs(void **state)
{
	(void)state;
	start();
	say_started();
	(void)close(init.conn_fd);
	init.conn_fd = -1;
	fake_turn();
	assert_int_equal(init.lost, 1);
	assert_true(init_link_broken(init.link));
}

static void closing_loses_them_too(void **state)
{
	(void)state;
	start();
	init_link_close(init.link);
	init.link = NULL;
	assert_int_equal(init.lost, 1);
}

static void a_kill_is_sent(void **state)
{
	struct init_kill kill;
	size_t len;

	(void)state;
	start();
	exec_kill(init.exec, INIT_KILL_TREE, 9);
	assert_int_equal(fdpass_recv(init.conn_fd, &kill, sizeof(kill), 0, &len,
				     NULL),
			 0);
	assert_int_equal(len, sizeof(kill));
	assert_int_equal(kill.op, INIT_KILL);
	assert_int_equal(kill.exec_id, init.exec_id);
	assert_int_equal(kill.how, INIT_KILL_TREE);
}

/* Each breaks the link, and the exec is lost, not made up. */
static void lies_break_the_link(void **state)
{
	for (int lie = 0; lie < 15; lie++) {
		struct init_exited end;
		size_t len = sizeof(end);

		if (lie) {
			assert_int_equal(teardown(state), 0);
			assert_int_equal(setup(state), 0);
		}
		start();
		if (lie != 0)
			say_started();
		end = honest_end();
		switch (lie) {
		case 0: /* ends what never started */
			break;
		case 1: /* starts twice */
			say_started();
			break;
		case 2:
			end.verdict = VERDICT_LOST;
			break;
		case 3:
			end.verdict = VERDICT_NUM;
			break;
		case 4:
			end.signal = 9; /* and an exit code */
			break;
		case 5:
			end.exit_code = 256;
			break;
		case 6:
			len--;
			break;
		case 7:
			end.op = 77;
			break;
		case 8:
			end.signal = -1;
			break;
		case 9: /* exited, by a signal */
			end.verdict = VERDICT_EXITED;
			end.exit_code = -1;
			end.signal = 9;
			break;
		case 10: /* signaled, without one */
			end.verdict = VERDICT_SIGNALED;
			break;
		case 11:
			end.verdict = VERDICT_OOM;
			break;
		case 12: /* not init's to say */
			end.verdict = VERDICT_EXPIRED;
			break;
		case 13: /* failed, with 0 */
			end.verdict = VERDICT_PIDS_LIMIT;
			end.exit_code = 0;
			break;
		case 14:
			end.verdict = VERDICT_DISK_FULL;
			end.exit_code = 0;
			break;
		}
		if (lie != 1)
			say(&end, len);
		assert_int_equal(init.exited, 0);
		assert_int_equal(init.lost, 1);
		assert_true(init_link_broken(init.link));
	}
}

static void an_endless_talker_is_cut_off(void **state)
{
	struct init_started msg = { .op = INIT_STARTED, .pid = 1 };
	unsigned int i;

	(void)state;
	start();
	msg.exec_id = init.exec_id + 1;
	for (i = 0; i < 1000 && !init_link_broken(init.link); i++)
		say(&msg, sizeof(msg));
	assert_true(i < 1000);
	assert_int_equal(init.lost, 1);
}

static void a_descriptor_from_init_is_refused(void **state)
{
	struct init_started msg = { .op = INIT_STARTED, .pid = 1 };
	int r;

	(void)state;
	start();
	msg.exec_id = init.exec_id;
	r = fdpass_send(init.conn_fd, &msg, sizeof(msg), &init.dir_fd, 1);
	fake_turn();
	assert_int_equal(init.started, 0);
	/* Linux 6.16 doesn't let it be sent; older ones have to receive it. */
	if (r == 0)
		assert_true(init_link_broken(init.link));
	else
		assert_int_equal(r, -EPERM);
}

/* --- what outlives a link --- */

#define OLD_ID 4711u

static void attach(uint32_t id)
{
	assert_int_equal(init_link_attach(init.link, id, &ops, NULL, &init.exec,
					  NULL),
			 0);
	init.exec_id = id;
	assert_int_equal(exec_id(init.exec), id);
}

static void say_head(enum init_op op, uint32_t id)
{
	const struct init_head msg = { .op = op, .exec_id = id };

	say(&msg, sizeof(msg));
}

/* The next message of osbd's; its length, 0 when there is none. */
static size_t hear(void *msg, size_t size)
{
	size_t len = 0;

	if (fdpass_recv(init.conn_fd, msg, size, MSG_DONTWAIT, &len, NULL) < 0)
		return 0;
	return len;
}

static void expect_ack(uint32_t id)
{
	struct init_head head = { 0 };

	assert_int_equal(hear(&head, sizeof(head)), sizeof(head));
	assert_int_equal(head.op, INIT_ACK);
	assert_int_equal(head.exec_id, id);
}

static void expect_silence(void)
{
	struct init_kill msg;

	assert_int_equal(hear(&msg, sizeof(msg)), 0);
}

static void what_runs_is_taken_up(void **state)
{
	struct init_exited end;

	(void)state;
	attach(OLD_ID);
	say_started();
	say_head(INIT_SYNCED, 0);
	assert_int_equal(init.started, 1);
	assert_int_equal(init.lost, 0);
	say_head(INIT_GREW, OLD_ID);
	assert_int_equal(init.grew, 1);
	end = honest_end();
	say(&end, sizeof(end));
	assert_int_equal(init.exited, 1);
	/* Whoever keeps the result acknowledges it. */
	expect_silence();
	init_link_ack(init.link, OLD_ID);
	expect_ack(OLD_ID);
	assert_false(init_link_broken(init.link));
}

static void what_ended_meanwhile_is_taken_up(void **state)
{
	struct init_exited end;

	(void)state;
	attach(OLD_ID);
	end = honest_end();
	say(&end, sizeof(end));
	say_head(INIT_SYNCED, 0);
	assert_int_equal(init.started, 0);
	assert_int_equal(init.exited, 1);
	assert_int_equal(init.lost, 0);
	assert_false(init_link_broken(init.link));
}

static void what_init_does_not_know_is_lost(void **state)
{
	struct exec *other;

	(void)state;
	attach(OLD_ID + 1);
	attach(OLD_ID);
	assert_int_equal(init_link_attach(init.link, OLD_ID + 2, &ops, NULL,
					  &other, NULL),
			 0);
	say_started(); /* of OLD_ID */
	say_head(INIT_SYNCED, 0);
	assert_int_equal(init.lost, 2);
	assert_false(init_link_broken(init.link));
	init_link_close(init.link);
	init.link = NULL;
	assert_int_equal(init.lost, 3);
}

static void one_that_was_started_here_is_not_lost_by_synced(void **state)
{
	(void)state;
	start();
	say_head(INIT_SYNCED, 0);
	assert_int_equal(init.lost, 0);
	say_started();
	assert_int_equal(init.started, 1);
}

static void the_same_is_not_taken_up_twice(void **state)
{
	struct exec *other;

	(void)state;
	attach(OLD_ID);
	assert_true(init_link_attach(init.link, OLD_ID, &ops, NULL, &other,
				     NULL) < 0);
}

static void as_many_as_init_can_have(void **state)
{
	struct exec *one;
	struct err err = ERR_NULL;

	(void)state;
	for (uint32_t i = 0; i < INIT_EXECS_MAX; i++)
		assert_int_equal(init_link_attach(init.link, i, &ops, NULL,
						  &one, NULL),
				 0);
	assert_true(init_link_attach(init.link, INIT_EXECS_MAX, &ops, NULL,
				     &one, &err) < 0);
	assert_int_equal(err.kind, ERR_UNAVAILABLE);
}

static void a_stray_that_runs_is_killed(void **state)
{
	struct init_kill kill = { 0 };

	(void)state;
	init.exec_id = OLD_ID;
	say_started();
	assert_int_equal(hear(&kill, sizeof(kill)), sizeof(kill));
	assert_int_equal(kill.op, INIT_KILL);
	assert_int_equal(kill.exec_id, OLD_ID);
	assert_int_equal(kill.how, INIT_KILL_TREE);
	assert_int_equal(init.started, 0);
	assert_false(init_link_broken(init.link));
}

static void a_stray_that_ended_is_acknowledged(void **state)
{
	struct init_exited end;

	(void)state;
	init.exec_id = OLD_ID;
	end = honest_end();
	say(&end, sizeof(end));
	expect_ack(OLD_ID);
	assert_int_equal(init.exited, 0);
	say_head(INIT_GREW, OLD_ID);
	assert_int_equal(init.grew, 0);
	assert_false(init_link_broken(init.link));
}

/* It has no log that could be looked at again: nobody else acknowledges. */
static void one_without_a_log_is_acknowledged_at_once(void **state)
{
	struct init_exited end;

	(void)state;
	start();
	say_started();
	end = honest_end();
	say(&end, sizeof(end));
	assert_int_equal(init.exited, 1);
	expect_ack(init.exec_id);
}

static void lies_about_the_past_break_the_link(void **state)
{
	for (int lie = 0; lie < 6; lie++) {
		const struct init_failed failed = {
			.op = INIT_FAILED,
			.exec_id = OLD_ID,
			.stage = INIT_STAGE_EXEC,
		};
		const struct init_head half = { .op = INIT_SYNCED };

		if (lie) {
			assert_int_equal(teardown(state), 0);
			assert_int_equal(setup(state), 0);
		}
		attach(OLD_ID);
		switch (lie) {
		case 0: /* it began long ago */
			say(&failed, sizeof(failed));
			break;
		case 1:
			say_started();
			say_started();
			break;
		case 2:
			say_started();
			say_head(INIT_SYNCED, 0);
			say_head(INIT_SYNCED, 0);
			break;
		case 3:
			say(&half, sizeof(half.op));
			break;
		case 4: /* one without a log */
			start();
			say_started();
			say_head(INIT_GREW, init.exec_id);
			break;
		case 5: /* an op of the other direction */
			say_head(INIT_ACK, OLD_ID);
			break;
		}
		assert_true(init_link_broken(init.link));
		assert_int_equal(init.exited + init.failed, 0);
		assert_true(init.lost > 0);
	}
}

static void endless_news_of_nothing_are_cut_off(void **state)
{
	unsigned int i;

	(void)state;
	attach(OLD_ID);
	for (i = 0; i < 1000 && !init_link_broken(init.link); i++)
		say_head(INIT_GREW, OLD_ID + 1);
	assert_true(i < 1000);
	assert_int_equal(init.lost, 1);
}

/* Fills the socket: kills of one exec that nobody reads. */
static void fill(void)
{
	for (unsigned int i = 0; i < 100000; i++) {
		exec_kill(init.exec, INIT_KILL_MAIN, 15);
		if (fake_watches[0]->events & POLLER_WRITE)
			return;
	}
	fail();
}

static void what_finds_the_socket_full_waits(void **state)
{
	unsigned int acks = 0, lives = 0, kills = 0;
	union {
		uint32_t op;
		struct init_life life;
		struct init_kill kill;
		struct init_head head;
	} msg;

	(void)state;
	attach(OLD_ID);
	say_started();
	fill();
	for (uint32_t i = 0; i < 1000; i++)
		init_link_ack(init.link, i);
	init_link_life(init.link, true, 111, NULL, NULL);
	init_link_life(init.link, false, 222, NULL,
		       NULL); /* the last one counts */
	exec_kill(init.exec, INIT_KILL_TREE, 9);
	exec_kill(init.exec, INIT_KILL_MAIN, 15); /* milder: not instead */
	for (unsigned int i = 0; i < 100000; i++) {
		size_t len = hear(&msg, sizeof(msg));

		if (len == 0 && !(fake_watches[0]->events & POLLER_WRITE))
			break;
		if (len == 0) {
			fake_turn();
			continue;
		}
		if (msg.op == INIT_ACK) {
			acks++;
		} else if (msg.op == INIT_LIFE) {
			lives++;
			assert_int_equal(msg.life.keep, 0);
			assert_int_equal(msg.life.left_ms, 222);
		} else if (msg.kill.how == INIT_KILL_TREE) {
			kills++;
		}
	}
	assert_int_equal(lives, 1);
	assert_int_equal(kills, 1);
	/* As many as init could ever wait for; the others come again. */
	assert_true(acks >= INIT_EXECS_MAX && acks < 1000);
	assert_int_equal(fake_watches[0]->events, POLLER_READ);
	assert_false(init_link_broken(init.link));
}

static void a_broken_link_takes_anything_in_silence(void **state)
{
	struct exec *exec;

	(void)state;
	attach(OLD_ID);
	(void)close(init.conn_fd);
	init.conn_fd = -1;
	fake_turn();
	assert_int_equal(init.lost, 1);
	init_link_ack(init.link, OLD_ID);
	init_link_life(init.link, true, 1, NULL, NULL);
	assert_true(init_link_attach(init.link, OLD_ID, &ops, NULL, &exec,
				     NULL) < 0);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(an_exec_starts_and_ends),
		CASE(an_exec_that_fails_never_started),
		CASE(a_vanished_init_loses_its_execs),
		CASE(closing_loses_them_too),
		CASE(a_kill_is_sent),
		CASE(lies_break_the_link),
		CASE(an_endless_talker_is_cut_off),
		CASE(a_descriptor_from_init_is_refused),
		CASE(what_runs_is_taken_up),
		CASE(what_ended_meanwhile_is_taken_up),
		CASE(what_init_does_not_know_is_lost),
		CASE(one_that_was_started_here_is_not_lost_by_synced),
		CASE(the_same_is_not_taken_up_twice),
		CASE(as_many_as_init_can_have),
		CASE(a_stray_that_runs_is_killed),
		CASE(a_stray_that_ended_is_acknowledged),
		CASE(one_without_a_log_is_acknowledged_at_once),
		CASE(lies_about_the_past_break_the_link),
		CASE(endless_news_of_nothing_are_cut_off),
		CASE(what_finds_the_socket_full_waits),
		CASE(a_broken_link_takes_anything_in_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
