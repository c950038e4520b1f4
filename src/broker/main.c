/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb-broker - the only process that holds privilege
 *
 * Purpose:    make and end sandboxes for osbd, its unprivileged child.
 * Process:    root; no network, no HTTP, no JSON; no heap after start.
 * Input from: osbd over a SOCK_SEQPACKET pair (hostile); launchers and inits
 *             (a pid and an errno each); broker.conf and options (root's).
 * Ownership:  parent and reaper of osbd, osb-disk, launchers and every sandbox.
 *             When it dies the kernel ends launchers, and sandboxes that
 *             nobody has asked to keep (PR_SET_PDEATHSIG); the others leave
 *             at the end of their channels. The next broker of its run
 *             directory adopts what lives on.
 * Threading:  one thread, one request at a time; never blocks on osbd.
 * Limits:     NATIVE_SANDBOXES_MAX, BROKER_MSG_MAX.
 *
 * #syscalls  poll read readlink open openat mkdir flock nanosleep
 *            clock_nanosleep signalfd4 prlimit64 socket bind listen connect
 *            fchmod chown lchown lstat newfstatat unlink umask brk mmap
 *            munmap rt_sigprocmask rt_sigaction rt_sigreturn
 *            restart_syscall futex getpid gettid tgkill exit_group
 */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <linux/filter.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/latency.h"
#include "base/listener.h"
#include "base/nofile.h"
#include "base/own_dir.h"
#include "base/signals.h"
#include "base/units.h"
#include "broker/broker.h"
#include "confine/confine.h"
#include "wire/fdpass.h"

#define DEFAULT_CONFIG "/etc/opensandbox/broker.conf"
#define DEFAULT_OSBD_CONFIG "/etc/opensandbox/osbd.conf"
#define DEFAULT_RUN_DIR "/run/opensandbox"
#define DEFAULT_STATE_DIR "/var/lib/opensandbox"

/* How soon to ask again for cgroups that the kernel still holds. */
#define RETRY_MS 10

/* Then signals and the dead get their turn, however much osbd asks. */
#define MESSAGES_PER_TURN 32

static const char usage[] =
	"usage: osb-broker [--config FILE] [--run-dir DIR] [--socket PATH]\n"
	"                  [--idle-exit TIME] [--api-key-file FILE]\n"
	"                  [--osbd-config FILE] [--state-dir DIR] [--keep]\n"
	"                  [--ready-fd N] [--private] [--check-config]\n"
	"\n"
	"Runs sandboxes for osbd, which it starts. Needs root.\n"
	"\n"
	"  --config FILE        default " DEFAULT_CONFIG ", if it exists\n"
	"  --run-dir DIR        default " DEFAULT_RUN_DIR "\n"
	"  --socket PATH        HTTP socket, default DIR/osbd.sock\n"
	"  --idle-exit TIME     leave after so long without work: 30s, 5m\n"
	"  --api-key-file FILE  a line NAME:KEY each; default: no keys\n"
	"  --osbd-config FILE   default " DEFAULT_OSBD_CONFIG ", if it exists\n"
	"  --state-dir DIR      default " DEFAULT_STATE_DIR ",\n"
	"                       or RUN_DIR/state of another --run-dir\n"
	"  --keep               leave sandboxes running when it is told to end\n"
	"  --ready-fd N         say there 'ready', or what went wrong\n"
	"  --private            for one user: socket for the owner only\n"
	"  --check-config       only read the files: 0, or 2 and why\n";

static struct sock_filter broker_filter[] = {
#include "broker_filter.h"
};

void ready_say(struct broker *broker, const char *line)
{
	if (broker->options.ready_fd < 0)
		return;
	(void)dprintf(broker->options.ready_fd, "%s\n", line);
	close_fd(&broker->options.ready_fd);
}

/* One line, whatever a file or osbd has put into it. */
static void say(struct err *err)
{
	for (char *p = err->msg; *p; p++)
		*p = (unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p;
	(void)fprintf(stderr, "osb-broker: %s\n", err->msg);
}

/* --- options --- */

static int copy_path(char *to, const char *from)
{
	size_t len = strlen(from);

	if (len == 0 || len >= PATH_MAX)
		return -EINVAL;
	memcpy(to, from, len + 1);
	return 0;
}

static int set_idle_exit(struct broker_options *options, const char *text)
{
	uint64_t ms;

	if (units_parse_time(text, &ms) < 0 || ms > UINT32_MAX)
		return -EINVAL;
	(void)snprintf(options->idle_exit, sizeof(options->idle_exit), "%u",
		       (unsigned int)((ms + 999) / 1000));
	return 0;
}

static int set_ready_fd(struct broker_options *options, const char *text)
{
	uint64_t fd;

	if (units_parse_count(text, 1000, &fd) < 0 ||
	    fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
		return -EINVAL;
	options->ready_fd = (int)fd;
	return 0;
}

struct arguments {
	char config[PATH_MAX];
	char run_dir[PATH_MAX];
	char state_dir[PATH_MAX];
	bool private;
	bool check; /* the files, and no more */
};

enum {
	OPT_CONFIG,
	OPT_RUN_DIR,
	OPT_SOCKET,
	OPT_KEYS,
	OPT_OSBD,
	OPT_STATE,
	OPT_NUM_PATHS,
	OPT_IDLE = OPT_NUM_PATHS,
	OPT_READY
};

static int set_option(struct broker_options *options, struct arguments *args,
		      int which, const char *value)
{
	char *const paths[OPT_NUM_PATHS] = {
		args->config,      args->run_dir,        options->socket_path,
		options->key_file, options->osbd_config, args->state_dir,
	};

	if (which < OPT_NUM_PATHS)
		return copy_path(paths[which], value);
	return which == OPT_IDLE ? set_idle_exit(options, value)
				 : set_ready_fd(options, value);
}

static int parse_options(int argc, char **argv, struct broker_options *options,
			 struct arguments *args, struct err *err)
{
	int help = 0, private = 0, check = 0, keep = 0, which, index;
	const struct option long_options[] = {
		{ "config", required_argument, NULL, OPT_CONFIG },
		{ "run-dir", required_argument, NULL, OPT_RUN_DIR },
		{ "socket", required_argument, NULL, OPT_SOCKET },
		{ "idle-exit", required_argument, NULL, OPT_IDLE },
		{ "api-key-file", required_argument, NULL, OPT_KEYS },
		{ "osbd-config", required_argument, NULL, OPT_OSBD },
		{ "state-dir", required_argument, NULL, OPT_STATE },
		{ "ready-fd", required_argument, NULL, OPT_READY },
		{ "keep", no_argument, &keep, 1 },
		{ "private", no_argument, &private, 1 },
		{ "check-config", no_argument, &check, 1 },
		{ "help", no_argument, &help, 1 },
		{ NULL, 0, NULL, 0 },
	};

	while ((which = getopt_long(argc, argv, "", long_options, &index)) !=
	       -1) {
		if (which == '?')
			return err_set(err, ERR_INVALID, 0,
				       "see osb-broker --help");
		if (!optarg)
			continue; /* a flag, already set */
		if (set_option(options, args, which, optarg) < 0)
			return err_set(err, ERR_INVALID, 0,
				       "--%s '%.100s': see osb-broker --help",
				       long_options[index].name, optarg);
	}
	if (help) {
		(void)fputs(usage, stdout);
		exit(0);
	}
	args->private = private;
	options->keep = keep;
	args->check = check;
	return optind == argc ? 0
			      : err_set(err, ERR_INVALID, 0,
					"'%.100s': see osb-broker --help",
					argv[optind]);
}

/* --- start --- */

/* The other programs stand beside this one. */
static int find_programs(struct broker *broker, struct native_config *config,
			 struct err *err)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 16);
	const char *dir;

	if (n < 0)
		return err_set(err, ERR_INTERNAL, errno, "read /proc/self/exe");
	self[n] = '\0';
	dir = dirname(self);
	(void)snprintf(broker->options.osbd_path, PATH_MAX, "%s/osbd", dir);
	(void)snprintf(config->init_path, PATH_MAX, "%s/osb-init", dir);
	(void)snprintf(config->files_path, PATH_MAX, "%s/osb-files", dir);
	(void)snprintf(config->disk_path, PATH_MAX, "%s/osb-disk", dir);
	return 0;
}

static int open_listener(struct broker *broker, struct err *err)
{
	const struct native_config *config = &broker->native.config;
	const char *path = broker->options.socket_path;
	int r;

	r = listener_unix(path, config->private ? 0600 : 0660,
			  &broker->listen_fd, err);
	if (r < 0)
		return r;
	broker->listening = true;
	fdpass_refuse(broker->listen_fd); /* clients' neither */
	if (!config->private && lchown(path, 0, config->osbd_gid) < 0)
		return err_set(err, ERR_INTERNAL, errno, "listen at '%.150s'",
			       path);
	return 0;
}

static int open_signals(struct broker *broker, struct err *err)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_set(err, ERR_INTERNAL, errno, "sigprocmask");
	broker->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (broker->signal_fd < 0)
		return err_set(err, ERR_INTERNAL, errno, "signalfd");
	return 0;
}

/*
 * What osbd keeps there is its own business, and nobody else's: it gets a
 * directory of its own, by descriptor, so that those above need not let it in.
 */
static int open_state_dir(struct broker *broker, struct arguments *args,
			  const struct native_config *config, struct err *err)
{
	char *path = args->state_dir;
	int dir_fd auto_fd = -1;
	int fd;

	if (!*path && args->run_dir[0])
		(void)snprintf(path, PATH_MAX, "%.4000s/state", args->run_dir);
	else if (!*path)
		(void)copy_path(path, DEFAULT_STATE_DIR);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return err_set(err, ERR_INVALID, errno, "make '%.150s'", path);
	dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 ||
	    (mkdirat(dir_fd, "osbd", 0700) < 0 && errno != EEXIST))
		return err_set(err, ERR_INVALID, errno, "use '%.150s'", path);
	fd = openat(dir_fd, "osbd",
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchown(fd, config->osbd_uid, config->osbd_gid) < 0)
		return err_set(err, ERR_INVALID, errno, "own '%.150s/osbd'",
			       path);
	broker->state_fd = fd;
	return 0;
}

/*
 * It can't itself. @path is empty when the user has named none and there was
 * none so far. A FIFO must not hold us up.
 */
static int open_for_osbd(char *path, const char *standard, int *ret_fd,
			 struct err *err)
{
	const char *name = path[0] ? path : standard;
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 && !path[0] && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_set(err, ERR_INVALID, errno, "read '%.150s'", name);
	(void)copy_path(path, name);
	close_fd(ret_fd);
	*ret_fd = fd;
	return 0;
}

static int open_files(struct broker *broker, struct err *err)
{
	struct broker_options *options = &broker->options;
	int r;

	r = open_for_osbd(options->key_file, "", &broker->key_fd, err);
	if (r == 0)
		r = open_for_osbd(options->osbd_config, DEFAULT_OSBD_CONFIG,
				  &broker->osbd_config_fd, err);
	return r;
}

static int configure(struct broker *broker, const struct arguments *args,
		     struct native_config *config, struct err *err)
{
	const char *run_dir =
		args->run_dir[0] ? args->run_dir : DEFAULT_RUN_DIR;
	struct broker_options *options = &broker->options;
	int r;

	config_defaults(config);
	r = config_load(config, args->config[0] ? args->config : DEFAULT_CONFIG,
			!args->config[0], err);
	if (r < 0)
		return r;
	config->private = args->private;
	(void)snprintf(config->run_dir, sizeof(config->run_dir), "%s", run_dir);
	if (!options->socket_path[0])
		(void)snprintf(options->socket_path, PATH_MAX, "%s/osbd.sock",
			       run_dir);
	r = open_files(broker, err);
	return r < 0 ? r : find_programs(broker, config, err);
}

/* broker.conf was fine; what osbd reads, only osbd can judge. */
static int check_files(const struct broker *broker, struct err *err)
{
	const struct broker_options *options = &broker->options;

	(void)execl(options->osbd_path, "osbd", "--check-config",
		    options->osbd_config, "--check-keys", options->key_file,
		    NULL);
	return err_set(err, ERR_INTERNAL, errno, "run osbd");
}

/* Before the first child: whatever we start can do no more than this. */
static int confine_self(struct err *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    seccomp_load(broker_filter, ARRAY_SIZE(broker_filter)) < 0)
		return err_set(err, ERR_UNSUPPORTED, errno,
			       "load the system call filter (needs seccomp)");
	return 0;
}

static int start(struct broker *broker, struct arguments *args, struct err *err)
{
	static struct native_config config; /* 100 kB of paths */
	int r;

	if (geteuid() != 0)
		return err_set(err, ERR_UNSUPPORTED, 0,
			       "osb-broker must run as root: namespaces with"
			       " ids of their own need it");
	(void)umask(0); /* modes are given in full */
	/* First: the next open() must not take one of their numbers. */
	r = listener_inherit(&broker->num_listeners, err);
	if (r == 0)
		r = configure(broker, args, &config, err);
	if (r == 0 && args->check)
		r = check_files(broker, err);
	(void)nofile_raise(); /* fewer do, too */
	if (r == 0)
		r = own_dir_open(config.run_dir, &broker->run_dir_fd, err);
	if (r == 0)
		r = open_state_dir(broker, args, &config, err);
	if (r == 0)
		r = open_signals(broker, err);
	if (r == 0)
		r = native_open(&broker->native, &config, err);
	if (r == 0)
		r = open_listener(broker, err);
	if (r == 0)
		r = confine_self(err);
	if (r == 0)
		r = front_start(broker, err);
	return r;
}

/* --- the loop --- */

static void receive(struct broker *broker)
{
	static union {
		struct broker_create largest;
		uint32_t align;
	} msg;
	struct front *front = &broker->front;
	size_t len;
	int r;

	for (unsigned int i = 0; i < MESSAGES_PER_TURN && front->sock_fd >= 0;
	     i++) {
		r = fdpass_recv(front->sock_fd, &msg, sizeof(msg), MSG_DONTWAIT,
				&len, NULL);
		if (r == -EAGAIN)
			return;
		if (r == 0 && len > 0)
			table_answer(broker, &msg, len);
		else if (r != -EMSGSIZE && r != -EBADMSG)
			front_drop(front); /* its end is closed: it would
					      wake us without end */
	}
}

/* Is there what has to be looked at again, though no event will tell? */
static bool has_dead(const struct native *native)
{
	if (native->num_looks > 0)
		return true;
	for (unsigned int i = 0; i < native->high; i++) {
		if (native->sandboxes[i].state == SANDBOX_DEAD)
			return true;
	}
	return false;
}

static void reload(struct broker *broker)
{
	struct err err = ERR_NULL;

	if (open_files(broker, &err) == 0)
		front_reload(broker);
	else
		say(&err);
}

/* Told twice to end, it doesn't wait for osbd. */
static void take_signal(struct broker *broker)
{
	struct signalfd_siginfo info;

	if (read(broker->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP)
		reload(broker);
	else if (broker->front.state == FRONT_ENDING)
		broker->stop = true;
	else
		front_ask_to_end(broker);
}

static int turn(struct broker *broker, int timeout_ms, struct err *err)
{
	struct pollfd pfds[] = {
		{ .fd = broker->front.sock_fd, .events = POLLIN },
		{ .fd = broker->front.pidfd, .events = POLLIN },
		{ .fd = broker->native.epoll_fd, .events = POLLIN },
		{ .fd = broker->signal_fd, .events = POLLIN },
	};
	int n = poll(pfds, ARRAY_SIZE(pfds), timeout_ms);
	int r;

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (pfds[0].revents || pfds[1].revents) /* its last word may be late */
		receive(broker);
	if (pfds[2].revents || has_dead(&broker->native))
		native_reap(&broker->native, table_gone, broker);
	if (pfds[1].revents) {
		r = front_died(broker, err);
		if (r != 0)
			broker->stop = true;
		return r < 0 ? r : 0;
	}
	if (pfds[3].revents)
		take_signal(broker);
	return n;
}

static int loop(struct broker *broker, struct err *err)
{
	bool more = true;
	int r = 0;

	while (!broker->stop && r >= 0) {
		/* In any case: its time runs from the first look. */
		int patience = front_patience(&broker->front);
		int timeout = has_dead(&broker->native) ? RETRY_MS : patience;

		/* What can be made ahead is made when nobody asks. */
		r = turn(broker, more ? 0 : timeout, err);
		more = r > 0 || (more && native_idle(&broker->native));
	}
	return r < 0 ? r : 0;
}

static void stop(struct broker *broker)
{
	/* The lock on the run directory is still ours, so the name is too. */
	if (broker->listening && broker->front.state != FRONT_LEAVING)
		(void)unlink(broker->options.socket_path);
	front_end(&broker->front);
	/* What runs waits for the next broker of this run directory. */
	if (!broker->options.keep || broker->native.num_live == 0)
		native_close(&broker->native);
}

static int fail(struct broker *broker, const struct arguments *args,
		struct err *err)
{
	say(err);
	ready_say(broker, err->msg);
	return args->check ? 2 : 1;
}

int main(int argc, char **argv)
{
	static struct broker broker = {
		.options.ready_fd = -1,
		.front = { .pidfd = -1, .sock_fd = -1 },
		.listen_fd = -1,
		.key_fd = -1,
		.osbd_config_fd = -1,
		.run_dir_fd = -1,
		.state_fd = -1,
	};
	static struct arguments args;
	struct err err = ERR_NULL;
	int r;

	latency_prefer();
	signals_reset(); /* or programs inside would ignore what we did */
	r = parse_options(argc, argv, &broker.options, &args, &err);
	if (r == 0)
		r = start(&broker, &args, &err);
	if (r == 0)
		r = loop(&broker, &err);
	/* What went wrong is no reason to end what others rely on. */
	if (r < 0)
		broker.options.keep = true;
	stop(&broker);
	return r < 0 ? fail(&broker, &args, &err) : 0;
}
