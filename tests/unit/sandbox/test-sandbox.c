/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "fake.h"
#include "sandbox/sandbox.h"
#include "wire/fdpass.h"

/* The other end of the channel: the test is the broker. */
struct world {
	int broker_fd;
	struct broker_link *link;
	struct sandboxes all;
	struct broker_create create;
	struct broker_destroy destroy;
	int created, create_failed, destroyed, closed;
	int reloads;
	bool keys_came, config_came;
};

static struct world world;

static void on_gone(void *ctx, const char *id)
{
	(void)ctx;
	sandboxes_gone(&world.all, id);
}

static void on_have(void *ctx, const char *id)
{
	(void)ctx;
	sandboxes_there(&world.all, id);
}

static void on_closed(void *ctx, const struct err *err)
{
	(void)ctx;
	(void)err;
	world.closed++;
}

static void on_reload(void *ctx, int keys_fd, int config_fd)
{
	(void)ctx;
	world.reloads++;
	world.keys_came = keys_fd >= 0 && fcntl(keys_fd, F_GETFD) >= 0;
	world.config_came = config_fd >= 0 && fcntl(config_fd, F_GETFD) >= 0;
}

static int setup(void **state)
{
	static const struct account_limits limits = {
		.max_sandboxes = 1000,
		.max_guarantee = UINT64_MAX,
		.memory_bytes = UINT64_MAX,
	};
	static const struct broker_link_ops ops = {
		.gone = on_gone,
		.have = on_have,
		.closed = on_closed,
		.reload = on_reload,
	};
	int fds[2];

	(void)state;
	memset(&world, 0, sizeof(world));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	world.broker_fd = fds[0];
	assert_int_equal(broker_link_new(&fake_poller, fds[1], &ops, NULL,
					 &world.link),
			 0);
	{
		const struct sandboxes_setup setup = {
			.poller = &fake_poller,
			.broker = world.link,
			.dir_fd = -1,
			.logs_fd = -1,
			.limits = &limits,
		};

		assert_int_equal(sandboxes_init(&world.all, &setup), 0);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sandboxes_deinit(&world.all);
	broker_link_free(world.link);
	(void)close(world.broker_fd);
	return 0;
}

static void on_created(void *ctx, const struct err *err)
{
	(void)ctx;
	if (err)
		world.create_failed++;
	else
		world.created++;
}

static void on_destroyed(void *ctx, const struct err *err)
{
	(void)ctx;
	assert_null(err);
	world.destroyed++;
}

static struct sandbox *ask(const char *domain)
{
	struct sandbox *sandbox;
	struct spec spec;
	size_t len;

	spec_init(&spec);
	assert_int_equal(spec_set_image(&spec, "host", NULL), 0);
	assert_int_equal(sandbox_create(&world.all, &spec, domain, on_created,
					NULL, &sandbox, NULL),
			 0);
	assert_int_equal(fdpass_recv(world.broker_fd, &world.create,
				     sizeof(world.create), 0, &len, NULL),
			 0);
	assert_int_equal(world.create.op, BROKER_CREATE);
	assert_string_equal(world.create.id, sandbox->id);
	assert_string_equal(world.create.domain, domain);
	assert_string_equal(world.create.image, "host");
	return sandbox;
}

static void answer(uint32_t tag, enum err_kind kind)
{
	struct broker_answer msg = {
		.op = BROKER_ANSWER,
		.tag = tag,
		.kind = kind,
	};

	assert_int_equal(fdpass_send(world.broker_fd, &msg, sizeof(msg), NULL,
				     0),
			 0);
	fake_turn();
}

static void expect_destroy(const char *id)
{
	size_t len;

	assert_int_equal(fdpass_recv(world.broker_fd, &world.destroy,
				     sizeof(world.destroy), MSG_DONTWAIT, &len,
				     NULL),
			 0);
	assert_int_equal(world.destroy.op, BROKER_DESTROY);
	assert_string_equal(world.destroy.id, id);
}

static void it_lives_and_ends(void **state)
{
	struct sandbox *sandbox = ask("uid:0");
	char id[SANDBOX_ID_LEN + 1];

	(void)state;
	memcpy(id, sandbox->id, sizeof(id));
	assert_int_equal(sandbox->state, SANDBOX_PENDING);
	answer(world.create.tag, ERR_NONE);
	assert_int_equal(world.created, 1);
	assert_int_equal(sandbox->state, SANDBOX_RUNNING);
	assert_ptr_equal(sandboxes_find(&world.all, id, "uid:0"), sandbox);
	sandbox_destroy(sandbox, on_destroyed, NULL);
	assert_null(sandboxes_find(&world.all, id, "uid:0"));
	expect_destroy(id);
	assert_int_equal(world.destroyed, 0);
	answer(world.destroy.tag, ERR_NONE);
	assert_int_equal(world.destroyed, 1);
	assert_int_equal(world.all.num, 0);
	assert_int_equal(world.all.num_live, 0);
}

static void other_domains_see_nothing(void **state)
{
	struct sandbox *sandbox = ask("uid:1");

	(void)state;
	answer(world.create.tag, ERR_NONE);
	assert_null(sandboxes_find(&world.all, sandbox->id, "uid:2"));
	assert_null(sandboxes_find(&world.all, sandbox->id, ""));
	assert_non_null(sandboxes_find(&world.all, sandbox->id, NULL));
}

static unsigned int charged(const char *domain)
{
	const struct account *account =
		account_find(&world.all.accounts, domain);

	return account ? account->num_sandboxes : 0;
}

static void a_domain_is_charged_for_what_it_sees(void **state)
{
	struct sandbox *sandbox = ask("uid:1");

	(void)state;
	assert_int_equal(charged("uid:1"), 1);
	assert_int_equal(charged("uid:2"), 0);
	assert_int_equal(world.all.accounts.guarantee_bytes,
			 LIMITS_DEFAULT_GUARANTEE);
	answer(world.create.tag, ERR_NONE);
	assert_int_equal(charged("uid:1"), 1);
	sandbox_destroy(sandbox, NULL, NULL);
	assert_int_equal(world.all.num, 1);
	assert_int_equal(charged("uid:1"), 0);
	assert_int_equal(world.all.accounts.guarantee_bytes, 0);
	expect_destroy(world.create.id);
	answer(world.destroy.tag, ERR_NONE);
	assert_int_equal(world.all.num, 0);
	assert_int_equal(charged("uid:1"), 0);
}

static void what_was_refused_or_deleted_early_costs_nothing(void **state)
{
	struct sandbox *sandbox;

	(void)state;
	(void)ask("uid:1");
	answer(world.create.tag, ERR_QUOTA);
	assert_int_equal(charged("uid:1"), 0);
	sandbox = ask("uid:1");
	sandbox_destroy(sandbox, NULL, NULL);
	assert_int_equal(charged("uid:1"), 0);
	answer(world.create.tag, ERR_NONE);
	expect_destroy(world.create.id);
	assert_int_equal(charged("uid:1"), 0);
	answer(world.destroy.tag, ERR_NONE);
}

static void what_could_not_be_destroyed_is_charged_and_tried_again(void **state)
{
	struct sandbox *sandbox = ask("uid:1");
	int64_t now_us = expiry_now_us();

	(void)state;
	answer(world.create.tag, ERR_NONE);
	sandbox->expires_us = now_us + 1000000;
	assert_int_equal(sandbox_set_expiry(sandbox, now_us + 2000000, NULL),
			 0);
	sandbox_destroy(sandbox, NULL, NULL);
	assert_int_equal(sandbox->deadline.place, 0);
	expect_destroy(world.create.id);
	answer(world.destroy.tag, ERR_INTERNAL);
	assert_int_equal(sandbox->state, SANDBOX_FAILED);
	assert_int_equal(charged("uid:1"), 1);
	assert_int_equal(sandbox->deadline.at_us, now_us + 2000000);
	sandbox->expires_us = now_us - 1; /* as if that had been why */
	sandbox_destroy(sandbox, NULL, NULL);
	expect_destroy(world.create.id);
	answer(world.destroy.tag, ERR_INTERNAL);
	assert_true(sandbox->deadline.at_us > now_us + 900000);
	sandbox_destroy(sandbox, NULL, NULL);
	expect_destroy(world.create.id);
	answer(world.destroy.tag, ERR_NONE);
	assert_int_equal(charged("uid:1"), 0);
	assert_int_equal(world.all.num, 0);
}

static void a_refused_one_leaves_no_record(void **state)
{
	(void)state;
	(void)ask("uid:0");
	answer(world.create.tag, ERR_DENIED);
	assert_int_equal(world.create_failed, 1);
	assert_int_equal(world.all.num, 0);
}

static void deleted_while_pending_it_is_destroyed_once_made(void **state)
{
	struct sandbox *sandbox = ask("uid:0");
	char id[SANDBOX_ID_LEN + 1];

	(void)state;
	memcpy(id, sandbox->id, sizeof(id));
	sandbox_destroy(sandbox, on_destroyed, NULL);
	assert_null(sandboxes_find(&world.all, id, "uid:0"));
	answer(world.create.tag, ERR_NONE);
	assert_int_equal(world.create_failed, 1);
	expect_destroy(id);
	answer(world.destroy.tag, ERR_NONE);
	assert_int_equal(world.destroyed, 1);
	assert_int_equal(world.all.num, 0);
}

static void one_that_ends_by_itself_can_still_be_seen(void **state)
{
	struct sandbox *sandbox = ask("uid:0");
	struct broker_event event = { .op = BROKER_GONE };

	(void)state;
	answer(world.create.tag, ERR_NONE);
	memcpy(event.id, sandbox->id, sizeof(event.id));
	assert_int_equal(fdpass_send(world.broker_fd, &event, sizeof(event),
				     NULL, 0),
			 0);
	fake_turn();
	assert_int_equal(sandbox->state, SANDBOX_FAILED);
	assert_int_equal(world.all.num_live, 0);
	sandbox_destroy(sandbox, on_destroyed, NULL);
	expect_destroy(event.id);
	answer(world.destroy.tag, ERR_NOT_FOUND); /* it knows it no more */
	assert_int_equal(world.destroyed, 1);
	assert_int_equal(world.all.num, 0);
}

static void the_owners_end_is_the_sandboxes_end(void **state)
{
	struct sandbox *mine = ask("uid:0");
	struct sandbox *other;
	int owner;

	(void)state;
	answer(world.create.tag, ERR_NONE);
	other = ask("uid:0");
	answer(world.create.tag, ERR_NONE);
	mine->bound_to = &owner;
	sandboxes_release(&world.all, &owner);
	expect_destroy(mine->id);
	assert_int_equal(mine->state, SANDBOX_STOPPING);
	assert_int_equal(other->state, SANDBOX_RUNNING);
	answer(world.destroy.tag, ERR_NONE);
}

static void a_deadline_ends_it(void **state)
{
	struct sandbox *sandbox = ask("uid:0");
	int64_t due_us = expiry_now_us() + 3000;

	(void)state;
	answer(world.create.tag, ERR_NONE);
	sandbox->expires_us = due_us + 1000000;
	assert_int_equal(sandbox_set_expiry(sandbox, due_us, NULL), 0);
	while (sandbox->state == SANDBOX_RUNNING)
		fake_turn();
	assert_true(expiry_now_us() >= due_us);
	expect_destroy(sandbox->id);
	answer(world.destroy.tag, ERR_NONE);
}

static void expiry_moves_until_its_moment_has_come(void **state)
{
	struct sandbox *sandbox = ask("uid:0");
	int64_t now_us = expiry_now_us();
	struct err err = ERR_NULL;

	(void)state;
	answer(world.create.tag, ERR_NONE);
	assert_true(sandbox_set_expiry(sandbox, now_us + 1000000, &err) < 0);
	assert_int_equal(err.kind, ERR_CONFLICT);
	sandbox->expires_us = now_us + 60000000;
	assert_true(sandbox_set_expiry(sandbox, now_us, &err) < 0);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_true(
		sandbox_set_expiry(sandbox,
				   now_us + SANDBOX_EXPIRY_MAX_US + 60000000,
				   &err) < 0);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_int_equal(sandbox->expires_us, now_us + 60000000);
	assert_int_equal(sandbox_set_expiry(sandbox, now_us + 30000000, NULL),
			 0);
	assert_int_equal(sandbox->expires_us, now_us + 30000000);
	assert_int_equal(sandbox->deadline.at_us, now_us + 30000000);
	/* Due, though the timer hasn't had its turn. */
	sandbox->expires_us = now_us - 1;
	assert_true(sandbox_set_expiry(sandbox, now_us + 60000000, &err) < 0);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_int_equal(sandbox->state, SANDBOX_RUNNING);
}

static void all_who_wait_hear_the_same(void **state)
{
	struct sandbox *sandbox = ask("uid:0");

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(sandbox_await(sandbox, on_created, NULL), 0);
	answer(world.create.tag, ERR_NONE);
	assert_int_equal(world.created, 4);
	sandbox = ask("uid:0");
	assert_int_equal(sandbox_await(sandbox, on_created, NULL), 0);
	answer(world.create.tag, ERR_DENIED);
	assert_int_equal(world.create_failed, 2);
}

static void a_failed_creation_frees_its_key_and_no_other_does(void **state)
{
	static const uint8_t digest[IDEM_DIGEST_LEN] = { 1 };
	int64_t now_us = expiry_now_us();
	struct idem *idem = &world.all.idem;
	struct sandbox *sandbox = ask("uid:0");
	const struct idem_entry *entry;

	(void)state;
	assert_int_equal(sandbox_set_key(sandbox, "k", digest), 0);
	entry = idem_find(idem, "uid:0", "k", now_us);
	assert_non_null(entry);
	assert_string_equal(entry->sandbox, sandbox->id);
	answer(world.create.tag, ERR_DENIED);
	assert_null(idem_find(idem, "uid:0", "k", now_us));
	sandbox = ask("uid:0");
	assert_int_equal(sandbox_set_key(sandbox, "k", digest), 0);
	answer(world.create.tag, ERR_NONE);
	sandbox_destroy(sandbox, NULL, NULL);
	expect_destroy(world.create.id);
	answer(world.destroy.tag, ERR_NONE);
	assert_non_null(idem_find(idem, "uid:0", "k", now_us));
}

static void metadata_is_replaced_as_a_whole(void **state)
{
	struct sandbox *sandbox = ask("uid:0");
	struct strv metadata;

	(void)state;
	answer(world.create.tag, ERR_NONE);
	strv_init(&metadata, 2, 100);
	assert_int_equal(strv_add(&metadata, "k"), 0);
	assert_int_equal(strv_add(&metadata, "v"), 0);
	sandbox_set_metadata(sandbox, &metadata);
	assert_string_equal(spec_label_get(&sandbox->spec.metadata, "k"), "v");
	assert_null(spec_label_get(&sandbox->spec.metadata, "v"));
	strv_deinit(&metadata); /* was taken */
	assert_string_equal(spec_label_get(&sandbox->spec.metadata, "k"), "v");
}

/* More than the socket holds: they wait, in order, and all are answered. */
static void a_full_channel_loses_no_request(void **state)
{
	enum {
		NUM = 100
	};
	char ids[NUM][SANDBOX_ID_LEN + 1];
	unsigned int seen = 0;

	(void)state;
	for (unsigned int i = 0; i < NUM; i++) {
		struct sandbox *sandbox;
		struct spec spec;

		spec_init(&spec);
		assert_int_equal(spec_set_image(&spec, "host", NULL), 0);
		assert_int_equal(sandbox_create(&world.all, &spec, "uid:0",
						on_created, NULL, &sandbox,
						NULL),
				 0);
		memcpy(ids[i], sandbox->id, sizeof(ids[i]));
	}
	while (seen < NUM) {
		size_t len;

		fake_turn();
		assert_int_equal(fdpass_recv(world.broker_fd, &world.create,
					     sizeof(world.create), MSG_DONTWAIT,
					     &len, NULL),
				 0);
		assert_string_equal(world.create.id, ids[seen]);
		seen++;
		answer(world.create.tag, ERR_NONE);
	}
	assert_int_equal(world.created, NUM);
}

static void an_answer_to_nothing_ends_the_link(void **state)
{
	(void)state;
	answer(12345, ERR_NONE);
	assert_int_equal(world.closed, 1);
	assert_true(broker_leave(world.link, on_created, NULL) < 0);
}

/* A message of the broker's with @num descriptors. */
static void say(const void *msg, size_t len, unsigned int num)
{
	const int fds[] = { STDERR_FILENO, STDERR_FILENO, STDERR_FILENO };

	assert_int_equal(fdpass_send(world.broker_fd, msg, len, fds, num), 0);
	fake_turn();
}

static void files_come_with_a_reload_and_are_closed_behind_it(void **state)
{
	struct broker_reload reload = { BROKER_RELOAD, RELOAD_CONFIG };
	int next_fd = dup(STDERR_FILENO);

	(void)state;
	(void)close(next_fd);
	say(&reload, sizeof(reload), 1);
	assert_true(!world.keys_came && world.config_came);
	reload.files = RELOAD_KEYS;
	say(&reload, sizeof(reload), 1);
	assert_true(world.keys_came && !world.config_came);
	reload.files = RELOAD_KEYS | RELOAD_CONFIG;
	say(&reload, sizeof(reload), 2);
	assert_true(world.keys_came && world.config_came);
	assert_int_equal(world.reloads, 3);
	assert_int_equal(world.closed, 0);
	assert_int_equal(fcntl(next_fd, F_GETFD), -1);
}

static void a_reload_without_its_files_ends_the_link(void **state)
{
	struct broker_reload reload = { BROKER_RELOAD, RELOAD_KEYS };

	(void)state;
	say(&reload, sizeof(reload), 2);
	assert_int_equal(world.reloads, 0);
	assert_int_equal(world.closed, 1);
}

static void a_descriptor_with_anything_else_ends_the_link(void **state)
{
	struct broker_event event = { .op = BROKER_GONE };
	int next_fd = dup(STDERR_FILENO);

	(void)state;
	(void)close(next_fd);
	say(&event, sizeof(event), 1);
	assert_int_equal(world.closed, 1);
	assert_int_equal(fcntl(next_fd, F_GETFD), -1);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(it_lives_and_ends),
		CASE(other_domains_see_nothing),
		CASE(a_domain_is_charged_for_what_it_sees),
		CASE(what_was_refused_or_deleted_early_costs_nothing),
		CASE(what_could_not_be_destroyed_is_charged_and_tried_again),
		CASE(a_refused_one_leaves_no_record),
		CASE(deleted_while_pending_it_is_destroyed_once_made),
		CASE(one_that_ends_by_itself_can_still_be_seen),
		CASE(the_owners_end_is_the_sandboxes_end),
		CASE(a_deadline_ends_it),
		CASE(expiry_moves_until_its_moment_has_come),
		CASE(all_who_wait_hear_the_same),
		CASE(a_failed_creation_frees_its_key_and_no_other_does),
		CASE(metadata_is_replaced_as_a_whole),
		CASE(a_full_channel_loses_no_request),
		CASE(an_answer_to_nothing_ends_the_link),
		CASE(files_come_with_a_reload_and_are_closed_behind_it),
		CASE(a_reload_without_its_files_ends_the_link),
		CASE(a_descriptor_with_anything_else_ends_the_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
