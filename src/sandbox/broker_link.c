/* SPDX-License-Identifier: Apache-2.0 */

/*
 * broker_link - requests out, answers in, matched by tag
 *
 * Purpose:    ask the privileged process for sandboxes.
 * Process:    osbd.
 * Input from: osb-broker, over a SEQPACKET pair.
 * Ownership:  owns the channel and the requests on their way.
 * Limits:     as many requests as sandboxes may exist (twice: create and
 *             destroy), which the caller bounds.
 */

#include "sandbox/broker_link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "build_id.h"
#include "sandbox/spec.h"
#include "wire/broker_msg.h"
#include "wire/fdpass.h"

#define MESSAGES_PER_CALL 64 /* then others get their turn */

/* One request that has no answer yet. */
struct request {
	struct request *next;
	uint32_t tag;
	broker_answer_fn fn;
	void *ctx;
	void *unsent; /* message that didn't fit into the socket, or NULL */
	size_t unsent_len;
};

struct broker_link {
	const struct poller *poller;
	struct watch *watch;
	int fd;
	const struct broker_link_ops *ops;
	void *ctx;
	uint32_t last_tag;
	struct request *first; /* in the order of sending */
	struct request **last;
	bool blocked; /* the socket is full; first unsent waits */
	bool dead;    /* closed() was called: nothing is sent any more */
};

static void request_free(struct request *request)
{
	if (!request)
		return;
	free(request->unsent);
	free(request);
}
DEFINE_AUTO(struct request *, request_free);

static void fail(struct broker_link *link, const struct err *err)
{
	link->poller->remove(link->watch);
	link->watch = NULL;
	link->dead = true;
	link->ops->closed(link->ctx, err);
}

/* Takes the request with that tag out of the list. */
static struct request *take_request(struct broker_link *link, uint32_t tag)
{
	for (struct request **at = &link->first; *at; at = &(*at)->next) {
		struct request *request = *at;

		if (request->tag != tag)
			continue;
		if (request->unsent)
			return NULL; /* an answer before the question */
		*at = request->next;
		if (!request->next)
			link->last = at;
		return request;
	}
	return NULL;
}

static int take_answer(struct broker_link *link,
		       const struct broker_answer *answer)
{
	struct request *request auto_clean(request_freep) =
		take_request(link, answer->tag);
	struct err err = ERR_NULL;

	if (!request)
		return -EBADMSG;
	if (answer->kind == ERR_NONE) {
		request->fn(request->ctx, NULL);
		return 0;
	}
	err.kind = err_kind_from_wire(answer->kind);
	err.sys = answer->sys;
	memcpy(err.msg, answer->msg, sizeof(err.msg));
	err.msg[sizeof(err.msg) - 1] = '\0';
	request->fn(request->ctx, &err);
	return 0;
}
_Static_assert(sizeof(((struct broker_answer *)0)->msg) == ERR_MSG_MAX,
	       "a broker's message is one of ours");

static int take_reload(struct broker_link *link,
		       const struct broker_reload *reload,
		       const struct fdset *fds)
{
	bool has_keys = reload->files & RELOAD_KEYS;
	bool has_config = reload->files & RELOAD_CONFIG;

	if (fds->num != (has_keys ? 1u : 0u) + (has_config ? 1u : 0u))
		return -EBADMSG;
	link->ops->reload(link->ctx, has_keys ? fds->fd[0] : -1,
			  has_config ? fds->fd[has_keys ? 1 : 0] : -1);
	return 0;
}

static int take_message(struct broker_link *link, void *msg, size_t len,
			const struct fdset *fds)
{
	struct broker_event *event = msg;
	uint32_t op;

	if (len < sizeof(op))
		return -EBADMSG;
	memcpy(&op, msg, sizeof(op));
	if (op == BROKER_RELOAD && len == sizeof(struct broker_reload))
		return take_reload(link, msg, fds);
	if (fds->num)
		return -EBADMSG;
	if (op == BROKER_ANSWER && len == sizeof(struct broker_answer))
		return take_answer(link, msg);
	if ((op != BROKER_GONE && op != BROKER_HAVE) || len != sizeof(*event) ||
	    event->id[SANDBOX_ID_LEN] != '\0')
		return -EBADMSG;
	if (op == BROKER_GONE)
		link->ops->gone(link->ctx, event->id);
	else
		link->ops->have(link->ctx, event->id);
	return 0;
}

static void receive(struct broker_link *link)
{
	union {
		struct broker_answer answer;
		struct broker_event event;
		struct broker_reload reload;
	} msg;
	struct err err = ERR_NULL;
	size_t len;
	int r;

	for (unsigned int i = 0; i < MESSAGES_PER_CALL && !link->dead; i++) {
		struct fdset fds auto_clean(fdset_close) = FDSET_NULL;

		r = fdpass_recv(link->fd, &msg, sizeof(msg), MSG_DONTWAIT, &len,
				&fds);
		if (r == -EAGAIN)
			return;
		if (r == 0 && len == 0)
			r = -EPIPE;
		if (r == 0)
			r = take_message(link, &msg, len, &fds);
		if (r < 0) {
			(void)err_set(&err, ERR_INTERNAL, -r,
				      "channel to the broker");
			fail(link, &err);
			return;
		}
	}
}

/* Sends what waits, in order, until the socket is full again. */
static int send_unsent(struct broker_link *link)
{
	for (struct request *request = link->first; request;
	     request = request->next) {
		int r;

		if (!request->unsent)
			continue;
		r = fdpass_send(link->fd, request->unsent, request->unsent_len,
				NULL, 0);
		if (r < 0)
			return r == -EAGAIN ? 0 : r;
		free(request->unsent);
		request->unsent = NULL;
	}
	link->blocked = false;
	link->poller->set(link->watch, POLLER_READ);
	return 0;
}

static void on_ready(void *ctx, unsigned int events)
{
	struct broker_link *link = ctx;
	struct err err = ERR_NULL;
	int r;

	if ((events & POLLER_WRITE) && link->blocked) {
		r = send_unsent(link);
		if (r < 0) {
			(void)err_set(&err, ERR_INTERNAL, -r,
				      "send to the broker");
			fail(link, &err);
			return;
		}
	}
	if (events & POLLER_READ)
		receive(link);
}

int broker_link_new(const struct poller *poller, int fd,
		    const struct broker_link_ops *ops, void *ctx,
		    struct broker_link **ret_link)
{
	struct broker_link *link = calloc(1, sizeof(*link));

	if (!link)
		return -ENOMEM;
	link->poller = poller;
	link->fd = fd;
	link->ops = ops;
	link->ctx = ctx;
	link->last = &link->first;
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0) {
		free(link);
		return -errno;
	}
	link->watch =
		poller->add(poller->loop, fd, POLLER_READ, on_ready, link);
	if (!link->watch) {
		free(link);
		return -ENOMEM;
	}
	*ret_link = link;
	return 0;
}

void broker_link_free(struct broker_link *link)
{
	if (!link)
		return;
	link->poller->remove(link->watch);
	close_fd(&link->fd);
	while (link->first) {
		struct request *request = link->first;

		link->first = request->next;
		request_free(request);
	}
	free(link);
}

/* Sends now if possible, else keeps a copy; registers the callback. */
static int send_request(struct broker_link *link, uint32_t tag, const void *msg,
			size_t len, broker_answer_fn fn, void *ctx)
{
	struct request *request auto_clean(request_freep) =
		calloc(1, sizeof(*request));
	int r = -EAGAIN;

	if (link->dead)
		return -EPIPE;
	if (!request)
		return -ENOMEM;
	request->tag = tag;
	request->fn = fn;
	request->ctx = ctx;
	if (!link->blocked)
		r = fdpass_send(link->fd, msg, len, NULL, 0);
	if (r == -EAGAIN) {
		request->unsent = malloc(len);
		if (!request->unsent)
			return -ENOMEM;
		memcpy(request->unsent, msg, len);
		request->unsent_len = len;
		if (!link->blocked)
			link->poller->set(link->watch,
					  POLLER_READ | POLLER_WRITE);
		link->blocked = true;
	} else if (r < 0) {
		return r;
	}
	*link->last = request;
	link->last = &request->next;
	(void)take_ptr(request);
	return 0;
}

static int send_hello(struct broker_link *link, enum broker_op op,
		      broker_answer_fn fn, void *ctx)
{
	struct broker_hello msg = {
		.op = op,
		.tag = ++link->last_tag,
		.build_id = OSB_BUILD_ID,
	};

	return send_request(link, msg.tag, &msg, sizeof(msg), fn, ctx);
}

int broker_hello(struct broker_link *link, broker_answer_fn fn, void *ctx)
{
	return send_hello(link, BROKER_HELLO, fn, ctx);
}

int broker_leave(struct broker_link *link, broker_answer_fn fn, void *ctx)
{
	return send_hello(link, BROKER_LEAVE, fn, ctx);
}

int broker_give_up(int fd, const struct err *err)
{
	struct broker_give_up msg = { .op = BROKER_GIVE_UP };

	memcpy(msg.msg, err->msg, sizeof(msg.msg));
	return fdpass_send(fd, &msg, sizeof(msg), NULL, 0);
}
_Static_assert(sizeof(((struct broker_give_up *)0)->msg) == ERR_MSG_MAX,
	       "a broker takes one of our messages");

int broker_create(struct broker_link *link, const char *id, const char *domain,
		  const struct spec *spec, uint64_t life_ms,
		  broker_answer_fn fn, void *ctx)
{
	struct broker_create msg = {
		.op = BROKER_CREATE,
		.tag = ++link->last_tag,
		.limits = spec->limits,
		.life_ms = life_ms,
		.flags = (spec->ephemeral ? 0 : CREATE_KEEP) |
			 (spec->strict ? CREATE_STRICT : 0),
		.num_volumes = spec->num_volumes,
	};

	memcpy(msg.id, id, SANDBOX_ID_LEN);
	memcpy(msg.domain, domain, strnlen(domain, DOMAIN_NAME_MAX));
	memcpy(msg.image, spec->image, sizeof(msg.image));
	if (spec->num_volumes)
		memcpy(msg.volumes, spec->volumes,
		       spec->num_volumes * sizeof(msg.volumes[0]));
	return send_request(link, msg.tag, &msg, sizeof(msg), fn, ctx);
}

int broker_claim(struct broker_link *link, const char *id,
		 const struct limits *limits, broker_answer_fn fn, void *ctx)
{
	struct broker_claim msg = {
		.op = BROKER_CLAIM,
		.tag = ++link->last_tag,
		.limits = *limits,
	};

	memcpy(msg.id, id, SANDBOX_ID_LEN);
	return send_request(link, msg.tag, &msg, sizeof(msg), fn, ctx);
}

int broker_destroy(struct broker_link *link, const char *id,
		   broker_answer_fn fn, void *ctx)
{
	struct broker_destroy msg = {
		.op = BROKER_DESTROY,
		.tag = ++link->last_tag,
	};

	memcpy(msg.id, id, SANDBOX_ID_LEN);
	return send_request(link, msg.tag, &msg, sizeof(msg), fn, ctx);
}
