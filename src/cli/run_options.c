/* SPDX-License-Identifier: Apache-2.0 */

/*
 * run_options - the command line of `osb run`
 *
 * One table of options; a function only where a value has a syntax of its
 * own. Values are checked for their form here, so that a slip is told at once
 * and without a daemon; what a host allows is the server's to say (refused.c).
 */

#include "cli/run_options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/ranges.h"
#include "base/units.h"
#include "cli/message.h"
#include "cli/options.h"

static int set_image(void *target, const char *value)
{
	struct run_options *options = target;

	if (*value == '\0')
		return -EINVAL;
	options->image = value;
	return 0;
}

static int set_profile(void *target, const char *value)
{
	struct run_options *options = target;

	if (*value == '\0')
		return -EINVAL;
	options->profile = value;
	return 0;
}

static int set_workdir(void *target, const char *value)
{
	struct run_options *options = target;

	if (*value != '/')
		return -EINVAL;
	options->workdir = value;
	return 0;
}

/* Digits that fit a uid; returns what is behind them, or NULL. */
static const char *skip_id(const char *text)
{
	size_t len = strspn(text, "0123456789");

	return len > 0 && len <= 9 ? text + len : NULL;
}

static int set_user(void *target, const char *value)
{
	struct run_options *options = target;
	const char *p;

	if (strcmp(value, "sandbox") != 0 && strcmp(value, "root") != 0) {
		p = skip_id(value);
		if (p && *p == ':')
			p = skip_id(p + 1);
		if (!p || *p != '\0')
			return -EINVAL;
	}
	options->user = value;
	return 0;
}

static int set_network(void *target, const char *value)
{
	(void)target; /* there is no other network yet */
	return strcmp(value, "none") == 0 ? 0 : -EINVAL;
}

static int set_policy(void *target, const char *value)
{
	static const char *const names[] = {
		[OSB_OUTPUT_DEFAULT] = "", /* can't be asked for */
		[OSB_OUTPUT_TRUNCATE] = "truncate",
		[OSB_OUTPUT_KILL] = "kill",
		[OSB_OUTPUT_WAIT] = "back-pressure",
	};
	struct run_options *options = target;

	for (size_t i = 1; i < ARRAY_SIZE(names); i++) {
		if (strcmp(value, names[i]) == 0) {
			options->exec.output_policy = (enum osb_output_policy)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* All the arrays are as long as argv: an option can't add more than one. */
static int make_array(struct run_options *options, void *array, size_t size)
{
	void **p = array;

	if (!*p)
		*p = calloc(options->max_items + 1, size);
	return *p ? 0 : -ENOMEM;
}

/* "K=V", or "K" to pass on our own value, if there is one. */
static int set_env(void *target, const char *value)
{
	struct run_options *options = target;
	const char *own;
	char *entry;
	int n;

	if (*value == '=' || *value == '\0')
		return -EINVAL;
	if (make_array(options, &options->env, sizeof(*options->env)) < 0)
		return -ENOMEM;
	if (strchr(value, '=')) {
		entry = strdup(value);
	} else {
		own = getenv(value);
		if (!own)
			return 0;
		n = asprintf(&entry, "%s=%s", value, own);
		if (n < 0)
			return -ENOMEM;
	}
	if (!entry)
		return -ENOMEM;
	options->env[options->num_env++] = entry;
	return 0;
}

/*
 * Take "SRC:DST" apart at the last ":/", so that SRC may hold colons; a DST
 * that isn't absolute is split at the last colon, if @relative allows it.
 */
static int split_pair(const char *value, bool relative, char **ret_source,
		      char **ret_target)
{
	const char *colon = NULL;

	for (const char *p = value; (p = strstr(p, ":/")) != NULL; p++)
		colon = p;
	if (!colon && relative)
		colon = strrchr(value, ':');
	if (!colon || colon == value || colon[1] == '\0')
		return -EINVAL;
	*ret_source = strndup(value, (size_t)(colon - value));
	*ret_target = strdup(colon + 1);
	return *ret_source && *ret_target ? 0 : -ENOMEM;
}

/* The API wants an absolute source; a relative one is our caller's. */
static int make_absolute(char **path, const char *value)
{
	char *absolute;

	if ((*path)[0] == '/')
		return 0;
	absolute = realpath(*path, NULL);
	if (!absolute && errno == ENOMEM)
		return -ENOMEM;
	if (!absolute) {
		(void)message("--volume '%s': '%s': %s", value, *path,
			      strerrordesc_np(errno));
		return -ECANCELED;
	}
	free(*path);
	*path = absolute;
	return 0;
}

static int set_volume(void *target, const char *value)
{
	struct run_options *options = target;
	char *source auto_free = NULL;
	char *mount auto_free = NULL;
	size_t len = strlen(value);
	const char *end = len > 3 ? value + len - 3 : value;
	bool read_only = strcmp(end, ":ro") == 0;
	bool has_mode = read_only || strcmp(end, ":rw") == 0;
	char *pair auto_free = strndup(value, has_mode ? len - 3 : len);
	int r;

	if (!pair || make_array(options, &options->volumes,
				sizeof(*options->volumes)) < 0)
		return -ENOMEM;
	r = split_pair(pair, false, &source, &mount);
	if (r == 0 && strchr(mount, ':')) /* most likely a slip in ":ro" */
		r = -EINVAL;
	if (r == 0)
		r = make_absolute(&source, value);
	if (r < 0)
		return r;
	options->volumes[options->num_volumes++] = (struct osb_volume){
		.source = take_ptr(source),
		.target = take_ptr(mount),
		.read_only = read_only,
	};
	return 0;
}

int run_options_add_copy(struct run_options *options, const char *source,
			 const char *target)
{
	char *from auto_free = strdup(source);
	char *to auto_free = strdup(target);

	if (!from || !to ||
	    make_array(options, &options->copies, sizeof(*options->copies)) < 0)
		return -ENOMEM;
	/* "dir/" is "dir": what is below it is appended to DST either way. */
	for (size_t len = strlen(from); len > 1 && from[len - 1] == '/';)
		from[--len] = '\0';
	options->copies[options->num_copies++] = (struct run_copy){
		.source = take_ptr(from),
		.target = take_ptr(to),
	};
	return 0;
}

static int set_copy(void *target, const char *value)
{
	char *source auto_free = NULL;
	char *inside auto_free = NULL;
	int r = split_pair(value, true, &source, &inside);

	return r < 0 ? r : run_options_add_copy(target, source, inside);
}

#define FIELD(name) offsetof(struct run_options, name)

/* Defaults and ranges: base/ranges.h, as the server has them. */
static const struct option run_option_list[] = {
	{ "--image", OPTION_CUSTOM, 0, "NAME", "root file system (host)",
	  "the name of an image, such as host", set_image, 0, 0 },
	{ "--profile", OPTION_CUSTOM, 0, "NAME",
	  "limits and walls by name, see osb profile list (code)",
	  "the name of a profile, such as strict", set_profile, 0, 0 },
	{ "--memory", OPTION_SIZE, FIELD(limits.memory_bytes), "SIZE",
	  "memory of all its processes and files (512Mi)", NULL, NULL,
	  LIMITS_MIN_MEMORY, LIMITS_MAX_BYTES },
	{ "--cpus", OPTION_CPUS, FIELD(limits.cpu_milli), "N",
	  "processor time per time, 0.5 or 500m (1)", NULL, NULL,
	  LIMITS_MIN_CPU_MILLI, LIMITS_MAX_CPU_MILLI },
	{ "--pids", OPTION_COUNT, FIELD(limits.pids), "N",
	  "processes and threads at once (256)", NULL, NULL, LIMITS_MIN_PIDS,
	  LIMITS_MAX_PIDS },
	{ "--disk", OPTION_SIZE, FIELD(limits.disk_bytes), "SIZE",
	  "what it may write to files (256Mi)", NULL, NULL, LIMITS_MIN_DISK,
	  LIMITS_MAX_BYTES },
	{ "--inodes", OPTION_COUNT, FIELD(limits.inodes), "N",
	  "files and directories it may make (64k)", NULL, NULL,
	  LIMITS_MIN_INODES, LIMITS_MAX_INODES },
	{ "--nofile", OPTION_COUNT, FIELD(limits.nofile), "N",
	  "open files of one process (1024)", NULL, NULL, LIMITS_MIN_NOFILE,
	  LIMITS_MAX_NOFILE },
	{ "--shm", OPTION_SIZE, FIELD(limits.shm_bytes), "SIZE",
	  "size of /dev/shm (64Mi)", NULL, NULL, LIMITS_MIN_SHM,
	  LIMITS_MAX_BYTES },
	{ "--volume", OPTION_CUSTOM, 0, "SRC:DST[:ro]",
	  "show a directory or file of the host inside",
	  "SRC:DST, SRC:DST:ro or SRC:DST:rw with an absolute DST", set_volume,
	  0, 0 },
	{ "--copy", OPTION_CUSTOM, 0, "SRC:DST",
	  "put a copy of a file or tree inside",
	  "SRC:DST, SRC here and DST in the sandbox", set_copy, 0, 0 },
	{ "--network", OPTION_CUSTOM, 0, "none", "no network (none)",
	  "none, the only network there is yet", set_network, 0, 0 },
	{ NULL, OPTION_FLAG, 0, NULL, NULL, NULL, NULL, 0, 0 },
};

const struct option run_program_options[] = {
	{ "--timeout", OPTION_TIME, FIELD(timeout_ms), "TIME",
	  "end it after 500ms, 30s, 5m, 2h (never)", NULL, NULL, 1,
	  UNITS_TIME_MAX_MS },
	{ "--cpu-time", OPTION_TIME, FIELD(exec.cpu_ms), "TIME",
	  "end it when it has used so much of a CPU (never)", NULL, NULL, 1,
	  UNITS_TIME_MAX_MS },
	{ "--output-max", OPTION_SIZE, FIELD(exec.output_max), "SIZE",
	  "what it may print, stdout and stderr together (any)", NULL, NULL, 1,
	  LIMITS_MAX_BYTES },
	{ "--output-policy", OPTION_CUSTOM, 0, "WHAT",
	  "beyond that truncate, kill, back-pressure (truncate)",
	  "truncate, kill or back-pressure", set_policy, 0, 0 },
	{ "--env", OPTION_CUSTOM, 0, "K=V",
	  "set a variable; K alone: pass ours",
	  "KEY=VALUE, or KEY to pass on the caller's value", set_env, 0, 0 },
	{ "--workdir", OPTION_CUSTOM, 0, "DIR", "where it starts (/workspace)",
	  "an absolute path in the sandbox, such as /workspace", set_workdir, 0,
	  0 },
	{ "--user", OPTION_CUSTOM, 0, "USER",
	  "sandbox, root, UID or UID:GID (sandbox)",
	  "sandbox, root, UID or UID:GID", set_user, 0, 0 },
	{ "--json", OPTION_FLAG, FIELD(json), NULL,
	  "print one object with output and verdict", NULL, NULL, 0, 0 },
	{ NULL, OPTION_FLAG, 0, NULL, NULL, NULL, NULL, 0, 0 },
};

static const struct option_table run_table = {
	.options = run_option_list,
	.also = run_program_options,
	.command = "run",
};

/* The last value given to @option, as it was written. */
static const char *value_of(const struct run_options *options,
			    const char *option)
{
	const char *value = run_options_value(options, option);

	return value ? value : "";
}

/* What two options allow together. */
static int check_limits(const struct run_options *options)
{
	const struct osb_limits *limits = &options->limits;
	uint64_t memory = limits->memory_bytes ? limits->memory_bytes
					       : LIMITS_DEFAULT_MEMORY;
	char have[UNITS_TEXT_MAX], need[UNITS_TEXT_MAX];

	if (limits->shm_bytes > memory) {
		units_format_size(memory, have);
		units_format_size(limits->shm_bytes, need);
		(void)message(
			"--shm '%s': expected at most --memory (%s); use --memory %s or more",
			value_of(options, "--shm"), have, need);
		return -EINVAL;
	}
	return 0;
}

void run_options_init(struct run_options *options, int argc, char **argv)
{
	memset(options, 0, sizeof(*options));
	options->max_items = (size_t)argc;
	options->argv = argv;
	options->user = "sandbox";
}

int run_options_parse(int argc, char **argv, struct run_options *ret_options)
{
	int next, r;

	run_options_init(ret_options, argc, argv);
	r = options_parse(&run_table, argc, argv, ret_options, &next);
	if (r != 0)
		return r;
	if (next >= argc || argv[next][0] == '\0') {
		(void)message(
			"run: %s: expected osb run [options] -- PROGRAM [ARG...]",
			next >= argc ? "a program is missing"
				     : "PROGRAM '' is empty");
		return -EINVAL;
	}
	ret_options->program = argv + next;
	return check_limits(ret_options);
}

void run_options_deinit(struct run_options *options)
{
	for (size_t i = 0; i < options->num_volumes; i++) {
		/* const for their readers; made by strdup here */
		free((char *)(uintptr_t)options->volumes[i].source);
		free((char *)(uintptr_t)options->volumes[i].target);
	}
	for (size_t i = 0; i < options->num_copies; i++) {
		free(options->copies[i].source);
		free(options->copies[i].target);
	}
	for (size_t i = 0; i < options->num_env; i++)
		free(options->env[i]);
	free(options->volumes);
	free(options->copies);
	free(options->env);
}

const char *run_options_value(const struct run_options *options,
			      const char *option)
{
	size_t len = strlen(option);
	const char *value = NULL;

	for (char **arg = options->argv; *arg && arg < options->program;
	     arg++) {
		if (strncmp(*arg, option, len) != 0)
			continue;
		if ((*arg)[len] == '=')
			value = *arg + len + 1;
		else if ((*arg)[len] == '\0')
			value = arg[1];
	}
	return value;
}

void run_options_print(void)
{
	options_print(&run_table);
}
