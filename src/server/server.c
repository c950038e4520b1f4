/* SPDX-License-Identifier: Apache-2.0 */

/*
 * server - start, ticking, idleness and end of osbd
 *
 * Purpose:    the loop around everything else in this folder.
 * Process:    osbd; unprivileged, one thread beside the store's.
 * Ownership:  struct server owns the descriptors of enum osbd_fd.
 * Invariants: osbd leaves as idle only after the broker has agreed, so that
 *             nobody is left with a socket that nobody serves.
 *
 * #syscalls  pread64 epoll_wait epoll_pwait epoll_ctl poll ppoll futex brk mmap
 *            munmap mremap mprotect madvise clock_gettime gettimeofday time
 *            getrandom rt_sigaction rt_sigprocmask rt_sigreturn
 *            restart_syscall getpid gettid tgkill exit exit_group
 */

#include "server/server.h"

#include <errno.h>
#include <jansson.h>
#include <linux/filter.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "confine/confine.h"
#include "sandbox/command.h"
#include "server/api/api.h"
#include "server/conn.h"
#include "server/run.h"
#include "server/watch.h"
#include "store/store.h"

#define TICK_MS 1000
#define CROWD_MIN 256u /* connections, in which fewer are none */
#define PRUNE_MS (3600u * 1000)

uint64_t server_now_ms(const struct server *server)
{
	return uv_now(server->loop);
}

static struct sock_filter osbd_filter[] = {
#include "osbd_filter.h"
};

static bool is_idle(const struct server *server)
{
	return server->num_conns == 0 && server->sandboxes.num_live == 0;
}

static void stop(struct server *server, int exit_code)
{
	server->exit_code = exit_code;
	uv_stop(server->loop);
}

static void on_left(void *ctx, const struct err *err)
{
	struct server *server = ctx;

	if (!err) {
		stop(server, 0);
		return;
	}
	if (server->draining)
		return;
	/* The broker wants us to stay: as if somebody had just been here. */
	server->leaving = false;
	server->idle_since_ms = 0;
	if (listen_start(server) < 0)
		stop(server, 1);
}

static void leave(struct server *server)
{
	/* What waits for nobody goes first; the next tick tries again. */
	if (pools_count(&server->sandboxes.pools) > 0) {
		pools_drop(&server->sandboxes.pools);
		return;
	}
	server->leaving = true;
	listen_stop(server);
	if (broker_leave(server->broker, on_left, server) < 0)
		stop(server, 1);
}

static void check_idle(struct server *server, uint64_t now_ms)
{
	uint64_t limit_ms = server->other_build_seen ? 1 : server->idle_exit_ms;

	if (!is_idle(server)) {
		server->idle_since_ms = 0;
		return;
	}
	if (server->idle_since_ms == 0)
		server->idle_since_ms = now_ms;
	if (limit_ms && !server->leaving &&
	    now_ms - server->idle_since_ms >= limit_ms)
		leave(server);
}

/* Keys of creates that nobody will repeat any more; once an hour. */
static void prune(struct server *server, uint64_t now_ms)
{
	if (server->prune_ms > now_ms)
		return;
	server->prune_ms = now_ms + PRUNE_MS;
	(void)store_prune_requests(server->store,
				   expiry_now_us() - IDEM_LIFE_US, NULL, NULL,
				   NULL);
}

/* What a crowd took goes back to the host once most of it has left. */
static void trim_memory(struct server *server)
{
	if (server->crowd < server->num_conns)
		server->crowd = server->num_conns;
	if (server->crowd < CROWD_MIN || server->num_conns > server->crowd / 4)
		return;
	server->crowd = server->num_conns;
	(void)malloc_trim(0);
}

static void on_tick(uv_timer_t *timer)
{
	struct server *server = timer->data;
	uint64_t now_ms = server_now_ms(server);

	conn_tick_all(server, now_ms);
	commands_tick(&server->sandboxes, now_ms);
	pools_tick(&server->sandboxes.pools);
	prune(server, now_ms);
	run_tick(server, now_ms);
	check_idle(server, now_ms);
	trim_memory(server);
	/* Nobody here and nothing to wait for: let the machine sleep. */
	if (is_idle(server) && server->idle_exit_ms == 0 &&
	    pools_count(&server->sandboxes.pools) == 0 &&
	    !server->other_build_seen)
		(void)uv_timer_stop(timer);
}

void server_wake(struct server *server)
{
	if (!uv_is_active((uv_handle_t *)&server->tick))
		(void)uv_timer_start(&server->tick, on_tick, TICK_MS, TICK_MS);
}

static void on_prepare(uv_prepare_t *prepare)
{
	struct server *server = prepare->data;

	conn_flush_all(server);
	if (server->draining && conn_drain_all(server))
		stop(server, 0);
}

static void on_drained(uv_timer_t *timer)
{
	stop(timer->data, 0);
}

/* Finish what is in work, for a while; told twice, end at once. */
static void on_term(uv_signal_t *signal, int number)
{
	struct server *server = signal->data;

	(void)number;
	listen_stop(server);
	if (server->draining ||
	    uv_timer_start(&server->drain, on_drained,
			   server->settings.drain_timeout_ms, 0) != 0)
		stop(server, 0);
	server->draining = true;
}

static void on_sandbox_gone(void *ctx, const char *id)
{
	struct server *server = ctx;

	sandboxes_gone(&server->sandboxes, id);
}

static void on_sandbox_there(void *ctx, const char *id)
{
	struct server *server = ctx;

	sandboxes_there(&server->sandboxes, id);
}

static void set_pools(struct server *server)
{
	pools_set(&server->sandboxes.pools,
		  (unsigned int)server->settings.pool_min,
		  (unsigned int)server->settings.pool_max);
}

/* All or nothing: what holds is replaced once all of it is understood. */
static int read_anew(struct server *server, int keys_fd, int config_fd,
		     struct err *err)
{
	struct settings *settings auto_free = malloc(sizeof(*settings));
	struct account_limits limits;
	struct keys keys = { .key = NULL };
	int r = 0;

	if (!settings)
		return err_set(err, ERR_INTERNAL, ENOMEM, "out of memory");
	*settings = server->settings;
	if (config_fd >= 0)
		r = settings_load(config_fd, server->config_name, settings,
				  err);
	if (r == 0)
		r = settings_accounts(settings, server->one_caller, &limits,
				      err);
	if (r == 0 && keys_fd >= 0)
		r = keys_load(keys_fd, &keys, err);
	if (r < 0)
		return r;
	server->sandboxes.accounts.limits = limits;
	server->settings = *settings;
	set_pools(server);
	log_as_json(settings->log == SETTINGS_LOG_JSON);
	if (keys.key) {
		keys_deinit(&server->keys);
		server->keys = keys;
	}
	return 0;
}

static void on_reload(void *ctx, int keys_fd, int config_fd)
{
	struct server *server = ctx;
	struct err err = ERR_NULL;

	if (read_anew(server, keys_fd, config_fd, &err) < 0)
		log_line(LOG_ERROR, NULL, "reload: nothing is changed: %s",
			 err.msg);
	else
		log_line(LOG_INFO, NULL, "reloaded");
}

static void on_broker_closed(void *ctx, const struct err *err)
{
	struct server *server = ctx;

	server_log("%s", err->msg);
	stop(server, 1);
}

static void on_hello(void *ctx, const struct err *err)
{
	struct server *server = ctx;

	struct err listen_err = ERR_NULL;
	int r;

	if (err) {
		server_log("the broker refuses us: %s", err->msg);
		stop(server, 1);
		return;
	}
	sandboxes_loaded(&server->sandboxes);
	/* Only now: before, what is there couldn't be told from what isn't. */
	r = listen_start(server);
	if (r < 0) {
		(void)err_set(&listen_err, ERR_INTERNAL, -r, "listen");
		server_log("%s", listen_err.msg);
		stop(server, 1);
	}
}

static int start_loop(struct server *server)
{
	server->loop = uv_default_loop();
	if (!server->loop || uv_timer_init(server->loop, &server->tick) ||
	    uv_prepare_init(server->loop, &server->flush) ||
	    uv_timer_init(server->loop, &server->drain) ||
	    uv_signal_init(server->loop, &server->term))
		return -ENOMEM;
	server->tick.data = server;
	server->flush.data = server;
	server->term.data = server;
	server->drain.data = server;
	server->poller = watch_poller(server->loop);
	if (uv_prepare_start(&server->flush, on_prepare) ||
	    uv_signal_start(&server->term, on_term, SIGTERM))
		return -ENOMEM;
	return 0;
}

/* What somebody wrote who wants to read what is wrong with it. */
static int read_files(struct server *server,
		      const struct server_options *options, struct err *err)
{
	int keys_fd auto_fd = options->has_keys ? OSBD_FD_KEYS : -1;
	int config_fd auto_fd = options->config_name ? OSBD_FD_CONFIG : -1;
	int r = 0;

	server->one_caller = options->private && !options->has_keys;
	settings_init(&server->settings);
	if (options->config_name)
		r = settings_load(config_fd, options->config_name,
				  &server->settings, err);
	if (r == 0 && options->has_keys)
		r = keys_load(keys_fd, &server->keys, err);
	log_as_json(server->settings.log == SETTINGS_LOG_JSON);
	server->config_name =
		options->config_name ? options->config_name : "osbd.conf";
	if (r == 0)
		r = settings_accounts(&server->settings, server->one_caller,
				      &server->account_limits, err);
	return r;
}

/* Return: a descriptor, for the process's life. */
static int open_logs(struct err *err)
{
	int fd = -1;

	if (mkdirat(OSBD_FD_STATE, "logs", 0700) == 0 || errno == EEXIST)
		fd = openat(OSBD_FD_STATE, "logs",
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_set(err, ERR_INTERNAL, errno,
				"make 'logs' in the state directory")
		      : fd;
}

static int start(struct server *server, const struct server_options *options,
		 struct err *err)
{
	static const struct broker_link_ops ops = {
		.gone = on_sandbox_gone,
		.have = on_sandbox_there,
		.closed = on_broker_closed,
		.reload = on_reload,
	};
	struct sandboxes_setup setup = {
		.poller = &server->poller,
		.dir_fd = OSBD_FD_SANDBOXES,
		.limits = &server->account_limits,
	};
	int r;

	metrics_init(&server->metrics);
	server->idle_exit_ms = options->idle_exit_ms;
	server->private = options->private;
	r = start_loop(server);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "start the event loop");
	r = broker_link_new(&server->poller, OSBD_FD_BROKER, &ops, server,
			    &server->broker);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "take the broker's fd");
	/* First: its thread inherits it. */
	r = confine_files(OSBD_FD_STATE);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "confine osbd");
	r = store_open(OSBD_FD_STATE, &server->poller, &server->store, err);
	if (r < 0)
		return r;
	r = open_logs(err);
	if (r < 0)
		return r;
	setup.broker = server->broker;
	setup.store = server->store;
	setup.logs_fd = r;
	r = sandboxes_init(&server->sandboxes, &setup);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "keep sandboxes");
	set_pools(server);
	r = sandboxes_load(&server->sandboxes, err);
	if (r < 0)
		return r;
	r = broker_hello(server->broker, on_hello, server);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "greet the broker");
	server_wake(server);
	/* Now, since it opens /dev/urandom; else a client can guess it. */
	json_object_seed(0);
	r = seccomp_load_all_threads(osbd_filter, ARRAY_SIZE(osbd_filter));
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r,
			       "load the system call filter");
	return 0;
}

static void end(struct server *server)
{
	/* First: who learns below that we end must not get back to us. */
	listen_close(server);
	while (server->conns)
		conn_close(server->conns);
	conn_flush_all(server);
	/* With the last callbacks, which find nothing to write to any more. */
	server->sandboxes.store = NULL;
	store_close(take_ptr(server->store));
	conn_flush_all(server);
	broker_link_free(server->broker);
	sandboxes_deinit(&server->sandboxes);
	keys_deinit(&server->keys);
}

int server_run(struct server *server, const struct server_options *options)
{
	struct err err = ERR_NULL;

	if (read_files(server, options, &err) < 0 ||
	    listen_open(server, options->num_listeners, &err) < 0) {
		/* The broker's line, not ours: osb reads it too. */
		if (broker_give_up(OSBD_FD_BROKER, &err) < 0)
			server_log("%s", err.msg);
		return 1;
	}
	if (start(server, options, &err) < 0) {
		server_log("%s", err.msg);
		return 1;
	}
	(void)uv_run(server->loop, UV_RUN_DEFAULT);
	end(server);
	/* Without a broker nobody answers what is still asked of it: what waits
	   for that goes with the process. */
	if (server->exit_code)
		_exit(server->exit_code);
	return 0;
}
