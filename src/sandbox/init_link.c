/* SPDX-License-Identifier: Apache-2.0 */

/*
 * init_link - execs of one sandbox, as its init reports them
 *
 * Purpose:    start programs in a sandbox and hear how they ended.
 * Process:    osbd.
 * Input from: the sandbox's init: it shares the sandbox with hostile code and
 *             may be taken over, so every number is checked before use. A
 *             message that no honest init sends breaks the link.
 * Ownership:  owns the socket and the execs.
 * Limits:     INIT_EXECS_MAX execs, INIT_MSG_MAX bytes per message.
 *
 * #syscalls  connect close socket: unix setsockopt: refuse_fds
 */

#include "sandbox/init_link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "sandbox/strv.h"
#include "wire/fdpass.h"

#define MESSAGES_PER_CALL 32            /* then others get their turn */
#define STRAYS_MAX (4 * INIT_EXECS_MAX) /* more is a flood */
#define ACKS_MAX (2 * INIT_EXECS_MAX)

struct exec {
	struct exec *next;
	struct init_link *link;
	uint32_t id;
	const struct exec_ops *ops;
	void *ctx;
	bool started;
	bool logged;   /* init waits for an acknowledgement */
	bool attached; /* ... and it was not this link that started it */
	struct init_kill kill; /* op 0: nothing waits to be sent */
};

struct init_link {
	const struct poller *poller;
	struct watch *watch;
	int fd; /* -1: broken */
	uint32_t last_exec_id;
	unsigned int num_strays; /* messages about execs we don't know */
	unsigned int num_execs;
	struct exec *execs;
	bool synced;           /* init has told what it knew before us */
	struct init_life life; /* op 0: nothing waits to be sent */
	init_life_fn life_fn;  /* who waits for an answer to it; or NULL */
	void *life_ctx;
	unsigned int num_acks; /* that wait to be sent */
	uint32_t acks[ACKS_MAX];
	bool dispatching; /* a callback may be running: don't free */
	bool closed;      /* ... but do so afterwards */
};

static struct exec **find_exec(struct init_link *link, uint32_t id)
{
	struct exec **at = &link->execs;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

/* Out of the list; the caller frees it after the last callback. */
static struct exec *take_exec(struct init_link *link, struct exec **at)
{
	struct exec *exec = *at;

	*at = exec->next;
	link->num_execs--;
	return exec;
}

static void tell_life(struct init_link *link, int r)
{
	init_life_fn fn = link->life_fn;

	link->life_fn = NULL;
	if (fn)
		fn(link->life_ctx, r);
}

static void break_link(struct init_link *link)
{
	link->poller->remove(link->watch);
	link->watch = NULL;
	close_fd(&link->fd);
	tell_life(link, -EPIPE);
	/* A callback may start or close things, so look anew each time. */
	while (link->execs) {
		struct exec *exec auto_free = take_exec(link, &link->execs);

		exec->ops->lost(exec->ctx);
	}
}

/*
 * What an earlier link has left that nobody takes up: a few, once. An init
 * that keeps talking about nothing would keep us busy for ever.
 */
static int take_stray(struct init_link *link)
{
	return ++link->num_strays > STRAYS_MAX ? -EBADMSG : 0;
}

/* Nobody hears of it any more, so it isn't to run. */
static int end_stray(struct init_link *link, uint32_t id)
{
	const struct init_kill kill = {
		.op = INIT_KILL,
		.exec_id = id,
		.how = INIT_KILL_TREE,
	};
	int r = take_stray(link);

	return r < 0 ? r : fdpass_send(link->fd, &kill, sizeof(kill), NULL, 0);
}

static int take_started(struct init_link *link,
			const struct init_started *in_msg)
{
	struct exec *exec = *find_exec(link, in_msg->exec_id);

	if (!exec)
		return end_stray(link, in_msg->exec_id);
	if (exec->started || in_msg->pid <= 0)
		return -EBADMSG;
	exec->started = true;
	exec->ops->started(exec->ctx, in_msg->pid);
	return 0;
}

static int take_failed(struct init_link *link, const struct init_failed *in_msg)
{
	struct exec **at = find_exec(link, in_msg->exec_id);
	struct exec *exec auto_free = NULL;

	if (!*at)
		return take_stray(link);
	if ((*at)->started || (*at)->attached ||
	    in_msg->stage < INIT_STAGE_REQUEST ||
	    in_msg->stage >= INIT_NUM_STAGES || in_msg->sys < 0)
		return -EBADMSG;
	exec = take_exec(link, at);
	exec->ops->failed(exec->ctx, (enum init_stage)in_msg->stage,
			  in_msg->sys);
	return 0;
}

/* Every number in its range, and no two that exclude each other. */
static bool is_possible(const struct init_exited *in_msg)
{
	bool by_signal = in_msg->signal != 0;

	if (in_msg->verdict <= VERDICT_LOST || in_msg->verdict >= VERDICT_NUM ||
	    in_msg->verdict == VERDICT_EXPIRED || in_msg->signal < 0 ||
	    in_msg->signal > 64 || in_msg->exit_code < -1 ||
	    in_msg->exit_code > 255 || by_signal != (in_msg->exit_code == -1))
		return false;
	if (in_msg->verdict == VERDICT_EXITED)
		return !by_signal;
	if (in_msg->verdict == VERDICT_SIGNALED ||
	    in_msg->verdict == VERDICT_OOM)
		return by_signal;
	if (in_msg->verdict == VERDICT_PIDS_LIMIT ||
	    in_msg->verdict == VERDICT_DISK_FULL)
		return in_msg->exit_code > 0;
	return true; /* whoever is killed may still manage to exit */
}

static int take_exited(struct init_link *link, struct init_exited *in_msg)
{
	struct exec **at = find_exec(link, in_msg->exec_id);
	struct exec *exec auto_free = NULL;

	if (!*at || !(*at)->logged)
		init_link_ack(link, in_msg->exec_id);
	if (!*at)
		return take_stray(link);
	if (!((*at)->started || (*at)->attached) || !is_possible(in_msg))
		return -EBADMSG;
	if (in_msg->num_left > INIT_LEFT_MAX)
		in_msg->num_left = INIT_LEFT_MAX;
	for (unsigned int i = 0; i < in_msg->num_left; i++)
		in_msg->left[i].comm[INIT_COMM_LEN - 1] = '\0';
	exec = take_exec(link, at);
	exec->ops->exited(exec->ctx, in_msg);
	return 0;
}

static int take_grew(struct init_link *link, const struct init_head *in_msg)
{
	struct exec *exec = *find_exec(link, in_msg->exec_id);

	if (!exec)
		return take_stray(link);
	if (!exec->logged || !(exec->started || exec->attached))
		return -EBADMSG;
	exec->ops->grew(exec->ctx);
	return 0;
}

/* What was to be taken up and isn't there is lost. */
static int take_synced(struct init_link *link)
{
	struct exec **at = &link->execs;

	if (link->synced)
		return -EBADMSG;
	link->synced = true;
	while (*at) {
		if (!(*at)->attached || (*at)->started) {
			at = &(*at)->next;
			continue;
		}
		struct exec *exec auto_free = take_exec(link, at);

		exec->ops->lost(exec->ctx);
		at = &link->execs; /* the callback may have changed them */
	}
	return 0;
}

union in_msg {
	uint32_t op;
	struct init_head head;
	struct init_started started;
	struct init_failed failed;
	struct init_exited exited;
};

static int take_message(struct init_link *link, union in_msg *msg, size_t len)
{
	if (len < sizeof(msg->op))
		return -EBADMSG;
	if (msg->op == INIT_STARTED && len == sizeof(msg->started))
		return take_started(link, &msg->started);
	if (msg->op == INIT_FAILED && len == sizeof(msg->failed))
		return take_failed(link, &msg->failed);
	if (msg->op == INIT_EXITED && len == sizeof(msg->exited))
		return take_exited(link, &msg->exited);
	if (msg->op == INIT_GREW && len == sizeof(msg->head))
		return take_grew(link, &msg->head);
	if (msg->op == INIT_LIVES && len == sizeof(msg->head)) {
		tell_life(link, 0);
		return 0;
	}
	if (msg->op == INIT_SYNCED && len == sizeof(msg->head))
		return take_synced(link);
	return -EBADMSG;
}

static void receive(struct init_link *link)
{
	union in_msg msg;
	size_t len;
	int r;

	for (unsigned int i = 0; i < MESSAGES_PER_CALL && link->fd >= 0; i++) {
		r = fdpass_recv(link->fd, &msg, sizeof(msg), MSG_DONTWAIT, &len,
				NULL);
		if (r == -EAGAIN)
			return;
		if (r == 0 && len == 0)
			r = -EPIPE;
		if (r == 0)
			r = take_message(link, &msg, len);
		if (r < 0) {
			break_link(link);
			return;
		}
	}
}

static bool send_acks(struct init_link *link)
{
	while (link->num_acks > 0) {
		const struct init_head ack = {
			.op = INIT_ACK,
			.exec_id = link->acks[link->num_acks - 1],
		};

		if (fdpass_send(link->fd, &ack, sizeof(ack), NULL, 0) ==
		    -EAGAIN)
			return false;
		link->num_acks--;
	}
	return true;
}

static bool send_life(struct init_link *link)
{
	if (link->life.op &&
	    fdpass_send(link->fd, &link->life, sizeof(link->life), NULL, 0) ==
		    -EAGAIN)
		return false;
	link->life.op = 0;
	return true;
}

/* What found the socket full. */
static void send_waiting(struct init_link *link)
{
	if (!send_life(link) || !send_acks(link))
		return;
	for (struct exec *exec = link->execs; exec; exec = exec->next) {
		if (exec->kill.op == 0)
			continue;
		if (fdpass_send(link->fd, &exec->kill, sizeof(exec->kill), NULL,
				0) == -EAGAIN)
			return;
		exec->kill.op = 0;
	}
	link->poller->set(link->watch, POLLER_READ);
}

static void on_ready(void *ctx, unsigned int events)
{
	struct init_link *link = ctx;

	link->dispatching = true;
	if (events & POLLER_WRITE)
		send_waiting(link);
	if (events & POLLER_READ)
		receive(link);
	link->dispatching = false;
	if (link->closed)
		free(link);
}

static int connect_to(int dir_fd, const char *id, int *ret_fd, struct err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd auto_fd =
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       0);

	if (fd < 0)
		return err_set(err, ERR_UNAVAILABLE, errno, "open a socket");
	fdpass_refuse(fd); /* init may be hostile */
	(void)snprintf(addr.sun_path, sizeof(addr.sun_path),
		       "/proc/self/fd/%d/%s.sock", dir_fd, id);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return err_set(err, ERR_UNAVAILABLE, errno,
			       "connect to the sandbox");
	*ret_fd = take_fd(&fd);
	return 0;
}

int init_link_new(const struct poller *poller, int fd,
		  struct init_link **ret_link)
{
	struct init_link *link auto_free = calloc(1, sizeof(*link));

	if (!link)
		return -ENOMEM;
	/* Ids of an earlier connection must not look like ours. */
	if (getrandom(&link->last_exec_id, sizeof(link->last_exec_id), 0) < 0)
		return -errno;
	link->poller = poller;
	link->watch =
		poller->add(poller->loop, fd, POLLER_READ, on_ready, link);
	if (!link->watch)
		return -ENOMEM;
	link->fd = fd;
	*ret_link = take_ptr(link);
	return 0;
}

int init_link_open(const struct poller *poller, int dir_fd, const char *id,
		   struct init_link **ret_link, struct err *err)
{
	int fd auto_fd = -1;
	int r;

	r = connect_to(dir_fd, id, &fd, err);
	if (r < 0)
		return r;
	r = init_link_new(poller, fd, ret_link);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "connect to init");
	(void)take_fd(&fd);
	return 0;
}

void init_link_close(struct init_link *link)
{
	if (!link || link->closed)
		return;
	link->closed = true;
	if (link->fd >= 0)
		break_link(link);
	if (!link->dispatching)
		free(link);
}

bool init_link_broken(const struct init_link *link)
{
	return link->fd < 0;
}

/* The whole INIT_EXEC message. */
static int put_exec(struct buf *msg, uint32_t id, const struct exec_spec *spec)
{
	struct init_exec head = {
		.op = INIT_EXEC,
		.exec_id = id,
		.flags = spec->flags,
		.uid = spec->uid,
		.gid = spec->gid,
		.argc = spec->argv->num,
		.envc = spec->env->num,
		.wall_ms = spec->wall_ms,
		.log_max = spec->log_max,
		.cpu_ms = spec->cpu_ms,
		.pids_max = spec->pids_max,
	};

	if (spec->argv->num + spec->env->num > INIT_ARGS_MAX)
		return -E2BIG;
	buf_add(msg, &head, sizeof(head));
	buf_add(msg, spec->cwd, strlen(spec->cwd) + 1);
	buf_add(msg, buf_data(&spec->argv->bytes), buf_len(&spec->argv->bytes));
	buf_add(msg, buf_data(&spec->env->bytes), buf_len(&spec->env->bytes));
	return msg->failed ? -E2BIG : 0;
}

static struct exec *exec_new(struct init_link *link, uint32_t id,
			     const struct exec_ops *ops, void *ctx)
{
	struct exec *exec = calloc(1, sizeof(*exec));

	if (!exec)
		return NULL;
	exec->link = link;
	exec->id = id;
	exec->ops = ops;
	exec->ctx = ctx;
	return exec;
}

static void add_exec(struct init_link *link, struct exec *exec)
{
	exec->next = link->execs;
	link->execs = exec;
	link->num_execs++;
}

int init_link_exec(struct init_link *link, const struct exec_spec *spec,
		   const struct exec_ops *ops, void *ctx,
		   struct exec **ret_exec, struct err *err)
{
	struct buf msg auto_clean(buf_deinit) = BUF_NULL;
	struct exec *exec auto_free = NULL;
	int r;

	if (link->fd < 0)
		return err_set(err, ERR_UNAVAILABLE, EPIPE,
			       "the sandbox has closed its connection");
	if (link->num_execs >= INIT_EXECS_MAX)
		return err_set(err, ERR_QUOTA, 0,
			       "%d programs run in the sandbox already",
			       INIT_EXECS_MAX);
	buf_init(&msg, INIT_MSG_MAX);
	if (put_exec(&msg, link->last_exec_id + 1, spec) < 0)
		return err_set(err, ERR_INVALID, 0,
			       "arguments and environment together are over "
			       "%u bytes or %d strings",
			       INIT_MSG_MAX, INIT_ARGS_MAX);
	exec = exec_new(link, ++link->last_exec_id, ops, ctx);
	if (!exec)
		return err_set(err, ERR_INTERNAL, ENOMEM, "start a program");
	exec->logged = spec->flags & INIT_EXEC_LOG;
	r = fdpass_send(link->fd, buf_data(&msg), buf_len(&msg), spec->fds,
			spec->num_fds);
	if (r < 0)
		return err_set(err, ERR_UNAVAILABLE, -r,
			       "send to the sandbox's init");
	add_exec(link, exec);
	*ret_exec = take_ptr(exec);
	return 0;
}

int init_link_attach(struct init_link *link, uint32_t id,
		     const struct exec_ops *ops, void *ctx,
		     struct exec **ret_exec, struct err *err)
{
	struct exec *exec;

	if (link->fd < 0 || link->num_execs >= INIT_EXECS_MAX ||
	    *find_exec(link, id))
		return err_set(err, ERR_UNAVAILABLE, 0, "take up a program");
	exec = exec_new(link, id, ops, ctx);
	if (!exec)
		return err_set(err, ERR_INTERNAL, ENOMEM, "take up a program");
	exec->logged = exec->attached = true;
	add_exec(link, exec);
	*ret_exec = exec;
	return 0;
}

uint32_t exec_id(const struct exec *exec)
{
	return exec->id;
}

static void wait_for_room(struct init_link *link)
{
	link->poller->set(link->watch, POLLER_READ | POLLER_WRITE);
}

void init_link_ack(struct init_link *link, uint32_t id)
{
	if (link->fd < 0)
		return;
	/* Init must be deaf: whoever connects next hears of it again. */
	if (link->num_acks == ACKS_MAX)
		return;
	link->acks[link->num_acks++] = id;
	if (!send_acks(link))
		wait_for_room(link);
}

void init_link_life(struct init_link *link, bool keep, uint64_t left_ms,
		    init_life_fn fn, void *ctx)
{
	if (link->fd < 0) {
		if (fn)
			fn(ctx, -EPIPE);
		return;
	}
	if (fn) {
		link->life_fn = fn;
		link->life_ctx = ctx;
	}
	link->life = (struct init_life){
		.op = INIT_LIFE,
		.keep = keep,
		.left_ms = left_ms,
	};
	if (!send_life(link))
		wait_for_room(link);
}

void exec_kill(struct exec *exec, enum init_kill_how how, int signal)
{
	struct init_link *link = exec->link;
	struct init_kill kill = {
		.op = INIT_KILL,
		.exec_id = exec->id,
		.how = how,
		.signal = signal,
	};

	if (link->fd < 0)
		return;
	/* The tree's SIGKILL must not be replaced by something milder. */
	if (exec->kill.op && exec->kill.how == INIT_KILL_TREE)
		return;
	if (fdpass_send(link->fd, &kill, sizeof(kill), NULL, 0) != -EAGAIN)
		return;
	exec->kill = kill;
	wait_for_room(link);
}
