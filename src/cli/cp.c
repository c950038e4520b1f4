/* SPDX-License-Identifier: Apache-2.0 */

/*
 * osb cp - files into and out of a sandbox that is there
 *
 * Both ways a file appears complete or not at all: the server sees to that
 * inside; here the content goes into a file without a name, which gets its
 * name at the end, and is gone with us otherwise. A file system that can't do
 * that (O_TMPFILE) gets what cp(1) does: the file is written where it lies.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/copy.h"
#include "cli/id.h"
#include "cli/message.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/run_options.h"
#include "cli/whole.h"
#include "osb/osb.h"

#define USAGE "osb cp [-r] SRC DST, of which one is ID:PATH"
#define WORKDIR "/workspace/"
#define TEMP_MAX (PATH_MAX + 32)

DEFINE_AUTO(struct osb_client *, osb_client_close);

struct cp_options {
	bool recursive;
};

static const struct option cp_option_list[] = {
	{ "-r", OPTION_FLAG, offsetof(struct cp_options, recursive), NULL,
	  "a directory with all below it, into the sandbox", NULL, NULL, 0, 0 },
	{ NULL, OPTION_FLAG, 0, NULL, NULL, NULL, NULL, 0, 0 },
};

static const struct option_table cp_table = {
	.options = cp_option_list,
	.command = "cp",
};

/* "ID:PATH": a colon before any slash. NULL: it is a file here. */
static const char *path_inside(const char *arg)
{
	size_t len = strcspn(arg, ":/");

	return len > 0 && arg[len] == ':' ? arg + len + 1 : NULL;
}

/* Connects; @arg is "ID:PATH". Return: 0, or said on stderr. */
static int find_sandbox(const char *arg, struct osb_client **ret_client,
			char ret_id[OSB_ID_MAX + 1])
{
	char *prefix auto_free = strndup(arg, strcspn(arg, ":"));

	if (!prefix) {
		(void)message("cp '%s': out of memory", arg);
		return -ENOMEM;
	}
	if (open_client(ret_client) < 0)
		return -EIO;
	return id_resolve(*ret_client, "cp", prefix, ret_id);
}

/* Below the work directory, unless it is absolute. */
static int make_inside(const char *path, char ret_path[PATH_MAX])
{
	int n = snprintf(ret_path, PATH_MAX, "%s%s",
			 path[0] == '/' ? "" : WORKDIR, path);

	if (n >= PATH_MAX) {
		(void)message("cp '%.200s...': the path is too long", path);
		return -ENAMETOOLONG;
	}
	return 0;
}

/* --- into a sandbox --- */

static int put_stdin(struct osb_client *client, const char *id,
		     const char *path)
{
	char inside[PATH_MAX];
	const struct osb_file_spec spec = {
		.path = inside,
		.owner = "sandbox",
		.group = "sandbox",
	};
	struct osb_error err;

	if (make_inside(path, inside) < 0)
		return EXIT_OSB;
	if (osb_file_put(client, id, &spec, STDIN_FILENO, &err) < 0)
		return message("cp '%s': %s", path, err.message);
	return 0;
}

/* What can be said before a daemon is asked. */
static int check_source(const char *source, const char *path, bool recursive)
{
	struct stat st;

	if (strcmp(source, "-") == 0 && path[strlen(path) - 1] == '/') {
		(void)message("cp '%s': stdin has no name: expected a file's",
			      path);
		return -EINVAL;
	}
	if (strcmp(source, "-") == 0)
		return 0;
	if (stat(source, &st) < 0) {
		(void)message("cp '%s': %s", source, strerrordesc_np(errno));
		return -EINVAL;
	}
	if (S_ISDIR(st.st_mode) && !recursive) {
		(void)message("cp '%s': it is a directory: use -r", source);
		return -EISDIR;
	}
	return 0;
}

static int copy_in(const char *source, const char *arg, bool recursive)
{
	struct osb_client *client auto_clean(osb_client_closep) = NULL;
	struct run_options options auto_clean(run_options_deinit);
	const char *path = path_inside(arg);
	char id[OSB_ID_MAX + 1];

	run_options_init(&options, 1, NULL);
	if (check_source(source, path, recursive) < 0 ||
	    find_sandbox(arg, &client, id) < 0)
		return EXIT_OSB;
	if (strcmp(source, "-") == 0)
		return put_stdin(client, id, path);
	if (run_options_add_copy(&options, source, path) < 0)
		return message("cp '%s': out of memory", source);
	if (copy_check(&options, COPY_AS_COMMAND) < 0 ||
	    copy_all(client, id, &options, COPY_AS_COMMAND) < 0)
		return EXIT_OSB;
	return 0;
}

/* --- out of it --- */

struct target {
	char path[PATH_MAX];
	int fd;
	bool unnamed; /* it gets its name at the end */
	int failed;   /* -errno of a write */
};

static int take(void *ctx, const void *data, size_t len)
{
	struct target *target = ctx;

	target->failed = whole_write(&target->fd, data, len);
	return target->failed;
}

/* A directory gets the file under its own name. */
static int place_target(const char *arg, const char *inside,
			struct target *target)
{
	const char *name = strrchr(inside, '/') + 1;
	size_t len = strlen(arg);
	char real[PATH_MAX];
	struct stat st;
	bool is_dir = (len > 0 && arg[len - 1] == '/') ||
		      (stat(arg, &st) == 0 && S_ISDIR(st.st_mode));
	int n = snprintf(target->path, sizeof(target->path), "%s%s%s", arg,
			 is_dir ? "/" : "", is_dir ? name : "");

	if (n >= (int)sizeof(target->path)) {
		(void)message("cp '%.200s...': the path is too long", arg);
		return -ENAMETOOLONG;
	}
	/* A link stays one; what it leads to is replaced. */
	if (realpath(target->path, real))
		memcpy(target->path, real, strlen(real) + 1);
	return 0;
}

static int open_unnamed(const char *path, const struct stat *old)
{
	char dir[PATH_MAX];
	char *slash;
	int fd;

	(void)snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir ? 1 : 0] = '\0';
	fd = open(slash ? dir : ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	if (old) {
		(void)!fchown(fd, old->st_uid, old->st_gid); /* if we may */
		(void)fchmod(fd, old->st_mode & 07777);
	}
	return fd;
}

static int open_target(struct target *target)
{
	struct stat st;
	bool exists = stat(target->path, &st) == 0;

	target->fd = -1;
	target->failed = 0;
	target->unnamed = !exists || S_ISREG(st.st_mode);
	if (target->unnamed) {
		if (exists && access(target->path, W_OK) < 0)
			return -errno;
		target->fd = open_unnamed(target->path, exists ? &st : NULL);
	}
	if (target->fd < 0) {
		target->unnamed = false;
		target->fd = open(target->path,
				  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC |
					  O_NOCTTY,
				  0666);
	}
	return target->fd < 0 ? -errno : 0;
}

/* A link can't replace a file, a rename can. */
static int replace(const char *from, const char *path)
{
	char temp[TEMP_MAX];
	uint32_t number = 0;
	int sys;

	(void)!getrandom(&number, sizeof(number), 0); /* need not be secret */
	(void)snprintf(temp, sizeof(temp), "%s.osb-%08x", path, number);
	if (linkat(AT_FDCWD, from, AT_FDCWD, temp, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	if (rename(temp, path) == 0)
		return 0;
	sys = errno;
	(void)unlink(temp);
	return -sys;
}

static int name_target(const struct target *target)
{
	char from[64];

	if (!target->unnamed)
		return 0;
	(void)snprintf(from, sizeof(from), "/proc/self/fd/%d", target->fd);
	if (linkat(AT_FDCWD, from, AT_FDCWD, target->path, AT_SYMLINK_FOLLOW) ==
	    0)
		return 0;
	return errno == EEXIST ? replace(from, target->path) : -errno;
}

static int fetch(struct osb_client *client, const char *id, const char *inside,
		 struct target *target)
{
	struct osb_error err;
	int r = osb_file_get(client, id, inside, take, target, &err);

	if (r == 0)
		target->failed = name_target(target);
	if (target->failed == -EPIPE) /* SIGPIPE is ignored */
		return EXIT_PIPE;
	if (target->failed < 0)
		return message("cp '%s': %s", target->path,
			       strerrordesc_np(-target->failed));
	return r < 0 ? message("cp '%s': %s", inside, err.message) : 0;
}

static int copy_out(const char *arg, const char *to)
{
	struct osb_client *client auto_clean(osb_client_closep) = NULL;
	struct target target = { .path = "stdout", .fd = STDOUT_FILENO };
	char inside[PATH_MAX], id[OSB_ID_MAX + 1];
	int status, r;

	if (make_inside(path_inside(arg), inside) < 0 ||
	    find_sandbox(arg, &client, id) < 0)
		return EXIT_OSB;
	if (strcmp(to, "-") == 0)
		return fetch(client, id, inside, &target);
	if (place_target(to, inside, &target) < 0)
		return EXIT_OSB;
	r = open_target(&target);
	if (r < 0)
		return message("cp '%s': %s", target.path, strerrordesc_np(-r));
	status = fetch(client, id, inside, &target);
	close_fd(&target.fd);
	return status;
}

static int copy(const char *source, const char *target, bool recursive)
{
	bool out = path_inside(source) != NULL;
	bool in = path_inside(target) != NULL;

	if (out == in)
		return message("cp: expected " USAGE);
	if (*path_inside(out ? source : target) == '\0')
		return message("cp '%s': a path is missing: expected ID:PATH",
			       out ? source : target);
	if (in)
		return copy_in(source, target, recursive);
	if (recursive)
		return message(
			"cp -r '%s': only into a sandbox; out of it: osb exec ID -- tar -C DIR -c . | tar -x",
			source);
	return copy_out(source, target);
}

static int run(int argc, char **argv)
{
	struct cp_options options = { false };
	int next;
	int r = options_parse(&cp_table, argc, argv, &options, &next);

	if (r == OPTIONS_E_HELP) {
		printf("Usage: osb cp [-r] SRC ID:DST\n"
		       "       osb cp ID:SRC DST\n\n"
		       "Copy a file of any size into or out of a sandbox. A "
		       "path inside that isn't\nabsolute is below /workspace; "
		       "here - is stdin or stdout; DST may be a directory\n"
		       "(inside with a slash at its end).\n\n");
		options_print(&cp_table);
		return 0;
	}
	if (r < 0)
		return EXIT_OSB;
	if (argc - next != 2)
		return message("cp: expected " USAGE);
	return copy(argv[next], argv[next + 1], options.recursive);
}

const struct command command_cp = {
	.name = "cp",
	.args = "[-r] SRC DST",
	.summary = "copy files into or out of a sandbox",
	.run = run,
};
