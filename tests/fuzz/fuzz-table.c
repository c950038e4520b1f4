/* SPDX-License-Identifier: Apache-2.0 */

/*
 * table - what osbd says to the broker, in any order
 *
 * Input: letters, each with one byte that chooses one of 16 ids: h hello,
 * c create, d destroy, l leave, s a create that is too short, g the sandbox
 * goes; r N: N bytes of a message follow; u N: it gives up, with N bytes.
 *
 * The stubs below are the rest of the broker. What must hold: every request
 * gets exactly one answer, at the latest when all sandboxes are gone, and
 * nothing is made or destroyed before the hello. Only the last word of one
 * that gives up has no answer; after it nothing more is read.
 */

#include "broker/broker.h"
#include "fuzz.h"

#define IDS 16
#define REQUESTS_MAX 256

static struct broker tested;
static bool dropped;
static bool live[IDS];
static bool waited[IDS]; /* a destroy was admitted */
static unsigned int num_open;
static uint32_t open_tags[REQUESTS_MAX]; /* requests without an answer */

static void id_of(unsigned int i, char id[SANDBOX_ID_LEN + 1])
{
	memset(id, "0123456789abcdef"[i % IDS], SANDBOX_ID_LEN);
	id[SANDBOX_ID_LEN] = '\0';
}

/* Return: its number, or IDS. */
static unsigned int find_id(const char *id)
{
	char known[SANDBOX_ID_LEN + 1];

	for (unsigned int i = 0; i < IDS; i++) {
		id_of(i, known);
		if (strcmp(id, known) == 0)
			return i;
	}
	return IDS;
}

int native_create(struct native *native, const struct broker_create *spec,
		  struct err *err)
{
	unsigned int i;

	CHECK(tested.front.state == FRONT_READY);
	if (strnlen(spec->id, sizeof(spec->id)) != SANDBOX_ID_LEN)
		return err_set(err, ERR_INVALID, 0, "not an id");
	i = find_id(spec->id);
	if (i == IDS || live[i])
		return err_set(err, ERR_CONFLICT, 0, "in use");
	live[i] = true;
	native->num_live++;
	return 0;
}

void native_each(const struct native *native, native_gone_fn fn, void *arg)
{
	char id[SANDBOX_ID_LEN + 1];

	(void)native;
	for (unsigned int i = 0; i < IDS; i++) {
		id_of(i, id);
		if (live[i])
			fn(arg, id);
	}
}

int native_claim(struct native *native, const struct broker_claim *in_claim,
		 struct err *err)
{
	unsigned int i = find_id(in_claim->id);

	(void)native;
	CHECK(tested.front.state == FRONT_READY);
	return i < IDS && live[i] ? 0 : err_set(err, ERR_NOT_FOUND, 0, "none");
}

int native_destroy(struct native *native, const char *id, struct err *err)
{
	unsigned int i = find_id(id);

	(void)native;
	CHECK(tested.front.state == FRONT_READY);
	CHECK(strlen(id) == SANDBOX_ID_LEN);
	if (i == IDS || !live[i])
		return err_set(err, ERR_NOT_FOUND, 0, "no such sandbox");
	waited[i] = true;
	return 0;
}

void ready_say(struct broker *broker, const char *line)
{
	CHECK(broker == &tested && *line);
}

void front_drop(struct front *front)
{
	CHECK(front == &tested.front && front->state == FRONT_NEW);
	CHECK(strnlen(front->gave_up, sizeof(front->gave_up)) <
	      sizeof(front->gave_up));
	CHECK(num_open > 0);
	num_open--; /* the newest: this one */
	dropped = true;
}

static void close_request(uint32_t tag)
{
	for (unsigned int i = 0; i < num_open; i++) {
		if (open_tags[i] != tag)
			continue;
		open_tags[i] = open_tags[--num_open];
		return;
	}
	CHECK(false); /* an answer that nobody waits for */
}

void front_send(struct front *front, const void *msg, size_t len)
{
	const struct broker_answer *answer = msg;
	const struct broker_event *event = msg;

	CHECK(front == &tested.front);
	if (answer->op == BROKER_ANSWER) {
		CHECK(len == sizeof(*answer));
		CHECK(answer->kind < ERR_NUM_KINDS);
		CHECK(strnlen(answer->msg, sizeof(answer->msg)) <
		      sizeof(answer->msg));
		close_request(answer->tag);
		return;
	}
	CHECK(event->op == BROKER_GONE && len == sizeof(*event));
	CHECK(find_id(event->id) < IDS && !waited[find_id(event->id)]);
}

static void gone(unsigned int i)
{
	char id[SANDBOX_ID_LEN + 1];

	if (!live[i])
		return;
	id_of(i, id);
	live[i] = false;
	tested.native.num_live--;
	table_gone(&tested, id);
	waited[i] = false;
}

/* As it lies in the broker's buffer: aligned, and of exactly its length. */
static void say(const void *msg, size_t len)
{
	uint32_t *copy auto_free = malloc(len ? len : 1);
	uint32_t head[2];

	CHECK(copy);
	memcpy(copy, msg, len);
	if (len >= sizeof(head)) {
		memcpy(head, msg, sizeof(head));
		open_tags[num_open++] = head[1];
	}
	table_answer(&tested, copy, len);
}

static void say_one(uint8_t letter, struct fuzz *in)
{
	static uint32_t tag;
	uint8_t which = fuzz_byte(in);
	struct broker_hello hello = { .tag = ++tag };
	struct broker_give_up up = { .op = BROKER_GIVE_UP, .tag = tag };
	struct broker_destroy destroy = { .op = BROKER_DESTROY, .tag = tag };
	static struct broker_create create;
	void *raw auto_free = NULL;
	size_t len;

	create.op = BROKER_CREATE;
	create.tag = tag;
	id_of(which, create.id);
	id_of(which, destroy.id);
	switch (letter) {
	case 'h':
	case 'l':
		hello.op = letter == 'h' ? BROKER_HELLO : BROKER_LEAVE;
		say(&hello, sizeof(hello));
		break;
	case 'c':
		say(&create, sizeof(create));
		break;
	case 's':
		say(&create, sizeof(create) - 1);
		break;
	case 'd':
		say(&destroy, sizeof(destroy));
		break;
	case 'u':
		raw = fuzz_take(in, which, &len);
		memset(up.msg, '!', sizeof(up.msg)); /* no NUL, perhaps */
		memcpy(up.msg, raw, len);
		say(&up, sizeof(up));
		break;
	case 'g':
		gone(which % IDS);
		break;
	case 'r':
		raw = fuzz_take(in, which, &len);
		say(raw, len);
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = { data, size };

	memset(tested.waiters, 0, sizeof(tested.waiters));
	memset(live, 0, sizeof(live));
	memset(waited, 0, sizeof(waited));
	tested.native.num_live = 0;
	tested.front = (struct front){ .state = FRONT_NEW };
	dropped = false;
	num_open = 0;
	for (unsigned int i = 0; i < REQUESTS_MAX && in.len && !dropped; i++)
		say_one(fuzz_byte(&in), &in);
	for (unsigned int i = 0; i < IDS; i++)
		gone(i);
	CHECK(num_open == 0);
	return 0;
}
