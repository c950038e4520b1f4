/* SPDX-License-Identifier: Apache-2.0 */

/*
 * table - everything that osbd may ask for, and when
 *
 * Input from osbd: hostile. A message is admitted only if its operation is in
 * the table, the front's state allows it, and its length is exactly right;
 * the handler then checks every field. Nothing is kept of a message after its
 * answer but an entry in the table of sandboxes.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/listener.h"
#include "broker/broker.h"

static void answer(struct broker *broker, uint32_t tag, const struct err *err)
{
	struct broker_answer msg = { .op = BROKER_ANSWER, .tag = tag };

	if (err) {
		msg.kind = err->kind;
		msg.sys = err->sys;
		(void)snprintf(msg.msg, sizeof(msg.msg), "%s", err->msg);
	}
	front_send(&broker->front, &msg, sizeof(msg));
}

static void refuse(struct broker *broker, uint32_t tag, const char *why)
{
	struct err err = ERR_NULL;

	(void)err_set(&err, ERR_INVALID, 0, "%s", why);
	answer(broker, tag, &err);
}

static void send_event(struct broker *broker, enum broker_op op, const char *id)
{
	struct broker_event event = { .op = op };

	memcpy(event.id, id, sizeof(event.id));
	front_send(&broker->front, &event, sizeof(event));
}

static void send_have(void *arg, const char *id)
{
	send_event(arg, BROKER_HAVE, id);
}

static void answer_hello(struct broker *broker, const void *in_msg)
{
	const struct broker_hello *in = in_msg;

	native_each(&broker->native, send_have, broker);
	broker->front.state = FRONT_READY;
	answer(broker, in->tag, NULL);
	ready_say(broker, "ready");
	listener_notify("READY=1");
}

/* Nothing is answered: osbd has ended, or is ended. See front_died(). */
static void take_give_up(struct broker *broker, const void *in_msg)
{
	const struct broker_give_up *in = in_msg;
	struct front *front = &broker->front;

	(void)snprintf(front->gave_up, sizeof(front->gave_up), "%.*s",
		       (int)sizeof(in->msg), in->msg);
	front_drop(front);
}

static void answer_create(struct broker *broker, const void *in_msg)
{
	const struct broker_create *in = in_msg;
	struct err err = ERR_NULL;
	int r;

	r = native_create(&broker->native, in, &err);
	answer(broker, in->tag, r < 0 ? &err : NULL);
}

static void answer_claim(struct broker *broker, const void *in_msg)
{
	const struct broker_claim *in = in_msg;
	struct err err = ERR_NULL;
	int r = -EINVAL;

	if (strnlen(in->id, sizeof(in->id)) == SANDBOX_ID_LEN)
		r = native_claim(&broker->native, in, &err);
	else
		(void)err_set(&err, ERR_INVALID, 0, "claim: bad id");
	answer(broker, in->tag, r < 0 ? &err : NULL);
}

static struct waiter *waiter_alloc(struct broker *broker)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(broker->waiters); i++) {
		if (!broker->waiters[i].used)
			return &broker->waiters[i];
	}
	return NULL;
}

/* Answered by table_gone(), when nothing of the sandbox is left. */
static void answer_destroy(struct broker *broker, const void *in_msg)
{
	const struct broker_destroy *in = in_msg;
	struct err err = ERR_NULL;
	struct waiter *waiter = waiter_alloc(broker);
	int r;

	if (!waiter || strnlen(in->id, sizeof(in->id)) != SANDBOX_ID_LEN) {
		refuse(broker, in->tag, "destroy: bad id or too many at once");
		return;
	}
	r = native_destroy(&broker->native, in->id, &err);
	if (r < 0) {
		answer(broker, in->tag, &err);
		return;
	}
	waiter->used = true;
	waiter->tag = in->tag;
	memcpy(waiter->id, in->id, sizeof(waiter->id));
}

static void answer_leave(struct broker *broker, const void *in_msg)
{
	const struct broker_hello *in = in_msg;

	if (broker->native.num_live > 0) {
		refuse(broker, in->tag, "leave: sandboxes are running");
		return;
	}
	/* First the name: whoever comes now starts another broker. */
	(void)unlink(broker->options.socket_path);
	broker->front.state = FRONT_LEAVING;
	answer(broker, in->tag, NULL);
}

static const struct {
	uint32_t op;
	unsigned int states; /* of enum front_state, or'ed */
	size_t size;
	void (*handler)(struct broker *broker, const void *in_msg);
} requests[] = {
	{ BROKER_HELLO, FRONT_NEW, sizeof(struct broker_hello), answer_hello },
	{ BROKER_GIVE_UP, FRONT_NEW, sizeof(struct broker_give_up),
	  take_give_up },
	{ BROKER_CREATE, FRONT_READY | FRONT_ENDING,
	  sizeof(struct broker_create), answer_create },
	{ BROKER_CLAIM, FRONT_READY | FRONT_ENDING, sizeof(struct broker_claim),
	  answer_claim },
	{ BROKER_DESTROY, FRONT_READY | FRONT_ENDING,
	  sizeof(struct broker_destroy), answer_destroy },
	{ BROKER_LEAVE, FRONT_READY, sizeof(struct broker_hello),
	  answer_leave },
};

void table_answer(struct broker *broker, const void *in_msg, size_t len)
{
	const uint32_t *head = in_msg; /* op, tag */

	if (len < 2 * sizeof(*head))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		if (requests[i].op != head[0])
			continue;
		if (!(requests[i].states & broker->front.state))
			refuse(broker, head[1], "request: not in this state");
		else if (requests[i].size != len)
			refuse(broker, head[1], "request: wrong length");
		else
			requests[i].handler(broker, in_msg);
		return;
	}
	refuse(broker, head[1], "request: unknown operation");
}

void table_gone(void *arg, const char *id)
{
	struct broker *broker = arg;
	bool asked = false;

	for (unsigned int i = 0; i < ARRAY_SIZE(broker->waiters); i++) {
		struct waiter *waiter = &broker->waiters[i];

		if (!waiter->used || strcmp(waiter->id, id) != 0)
			continue;
		answer(broker, waiter->tag, NULL);
		waiter->used = false;
		asked = true;
	}
	if (!asked)
		send_event(broker, BROKER_GONE, id);
}
