/* SPDX-License-Identifier: Apache-2.0 */

/*
 * env - what a program finds in its environment, and its user
 *
 * #syscalls  sched_getaffinity
 */

#include "server/env.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "sandbox/spec.h"
#include "sandbox/strv.h"

#define UID_MAX 65535u /* what a sandbox's id range holds */

/* As many as a sandbox is shown: no more than the host has. */
static unsigned int shown_cpus(const struct spec *spec)
{
	unsigned int cpus = (spec->limits.cpu_milli + 999) / 1000;
	cpu_set_t host;

	if (sched_getaffinity(0, sizeof(host), &host) == 0 &&
	    cpus > (unsigned int)CPU_COUNT(&host))
		cpus = (unsigned int)CPU_COUNT(&host);
	return cpus;
}

/*
 * How many threads libraries start and how many heaps they keep: what some
 * would take from the host's size, and others from a share of it.
 */
static int set_sizes(struct strv *env, const struct spec *spec)
{
	static const char *const threads[] = {
		"OMP_NUM_THREADS",
		"OPENBLAS_NUM_THREADS",
		"MKL_NUM_THREADS",
	};
	const unsigned int cpus = shown_cpus(spec);
	char number[16];
	int r = 0;

	(void)snprintf(number, sizeof(number), "%u", cpus);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(threads); i++)
		r = strv_set_env(env, threads[i], number);
	(void)snprintf(number, sizeof(number), "%u", 2 * cpus);
	return r < 0 ? r : strv_set_env(env, "MALLOC_ARENA_MAX", number);
}

int env_init(struct strv *ret_env, const struct spec *spec, uint32_t uid,
	     struct err *err)
{
	char number[16];
	const char *home = "/"; /* of an id without an entry in passwd */
	const char *user = number;
	int r;

	(void)snprintf(number, sizeof(number), "%u", uid);
	if (uid == 0) {
		home = "/root";
		user = "root";
	} else if (uid == ENV_SANDBOX_UID) {
		home = "/home/sandbox";
		user = "sandbox";
	}
	strv_init(ret_env, ENV_NUM_MAX, ENV_BYTES_MAX);
	r = strv_set_env(ret_env, "PATH",
			 "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
			 "/sbin:/bin");
	if (r == 0)
		r = strv_set_env(ret_env, "HOME", home);
	if (r == 0)
		r = strv_set_env(ret_env, "USER", user);
	if (r == 0)
		r = strv_set_env(ret_env, "LANG", "C.UTF-8");
	if (r == 0)
		r = set_sizes(ret_env, spec);
	if (r == 0)
		strv_for_each(text, &spec->env)
		{
			r = strv_set_env_text(ret_env, text);
			if (r < 0)
				break;
		}
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "make an environment");
	return 0;
}

/* Decimal digits up to @end; false when there is anything else. */
static bool parse_id(const char *text, char end, const char **ret_end,
		     uint32_t *ret_id)
{
	uint32_t id = 0;

	if (*text == '\0' || *text == end)
		return false;
	for (; *text && *text != end; text++) {
		if (*text < '0' || *text > '9')
			return false;
		id = id * 10 + (uint32_t)(*text - '0');
		if (id > UID_MAX)
			return false;
	}
	*ret_end = text;
	*ret_id = id;
	return true;
}

uint32_t env_default_uid(const struct spec *spec)
{
	return spec->strict ? ENV_SANDBOX_UID : 0;
}

int env_check_user(const struct spec *spec, uint32_t uid, uint32_t gid,
		   struct err *err)
{
	if (!spec->strict || (uid && gid))
		return 0;
	return err_set(err, ERR_INVALID, 0,
		       "user root: the sandbox is strict (profile '%s'), and "
		       "nobody in it is root",
		       spec->profile);
}

int env_user(const char *in_user, uint32_t *ret_uid, uint32_t *ret_gid,
	     struct err *err)
{
	const char *end;

	if (strcmp(in_user, "root") == 0) {
		*ret_uid = 0;
		*ret_gid = 0;
		return 0;
	}
	if (strcmp(in_user, "sandbox") == 0) {
		*ret_uid = ENV_SANDBOX_UID;
		*ret_gid = ENV_SANDBOX_UID;
		return 0;
	}
	if (!parse_id(in_user, ':', &end, ret_uid))
		goto out;
	*ret_gid = *ret_uid;
	if (*end == '\0')
		return 0;
	if (parse_id(end + 1, '\0', &end, ret_gid))
		return 0;
out:
	return err_set(err, ERR_INVALID, 0,
		       "user '%.60s': must be sandbox, root, UID or UID:GID "
		       "with numbers up to %u",
		       in_user, UID_MAX);
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_';
}

/* "$NAME" or "${NAME}" at @p; appends its value, returns what is behind. */
static const char *expand_name(const struct strv *env, const char *p,
			       struct buf *out, struct err *err)
{
	bool braces = p[1] == '{';
	const char *name = p + (braces ? 2 : 1);
	size_t len = 0;
	const char *value;

	while (is_name_char(name[len]))
		len++;
	if (braces && name[len] != '}')
		len = 0;
	value = len ? strv_get_env(env, name, len) : NULL;
	if (!value) {
		(void)err_set(err, ERR_INVALID, 0,
			      "path: '%.*s' isn't a variable that is set",
			      (int)(len + (braces ? 3 : 1)), p);
		return NULL;
	}
	buf_adds(out, value);
	return name + len + (braces ? 1 : 0);
}

int env_path(const struct strv *env, const char *in_path, char *ret_path,
	     size_t size, struct err *err)
{
	struct buf out auto_clean(buf_deinit) = BUF_NULL;
	const char *p = in_path;

	buf_init(&out, size - 1);
	if (p[0] == '~' && (p[1] == '/' || p[1] == '\0')) {
		buf_adds(&out, strv_get_env(env, "HOME", 4));
		p++;
	} else if (p[0] != '/' && p[0] != '$') {
		buf_adds(&out, ENV_WORKDIR "/");
	}
	while (*p) {
		size_t plain = strcspn(p, "$");

		buf_add(&out, p, plain);
		p += plain;
		if (*p != '$')
			continue;
		p = expand_name(env, p, &out, err);
		if (!p)
			return -EINVAL;
	}
	if (out.failed || buf_len(&out) == 0 || *buf_data(&out) != '/')
		return err_set(err, ERR_INVALID, 0,
			       "path '%.100s': too long, or not absolute once "
			       "expanded",
			       in_path);
	memcpy(ret_path, buf_data(&out), buf_len(&out));
	ret_path[buf_len(&out)] = '\0';
	return 0;
}
