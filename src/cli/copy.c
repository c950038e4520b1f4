/* SPDX-License-Identifier: Apache-2.0 */

/*
 * copy - put files and trees of the caller into a sandbox
 *
 * A source may be a regular file, a directory with all below it, or (named
 * itself, as in --copy <(cmd):data) a pipe that is read to its end. In a tree
 * a symbolic link to a regular file becomes a copy of that file; anything
 * else that can't be copied is an error, never left out in silence.
 */

#include "cli/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/message.h"
#include "cli/run_options.h"

#define INSIDE_MAX 4096
#define OWNER_MAX 32
#define DEFAULT_WORKDIR "/workspace"

struct copy_job {
	struct osb_client *client;
	const char *id;
	const struct run_copy *copy;
	enum copy_as as;
	char root[INSIDE_MAX]; /* where the source itself goes, inside */
	char owner[OWNER_MAX];
	char group[OWNER_MAX];
};

static int complain(const struct copy_job *job, const char *what,
		    const char *why)
{
	const struct run_copy *copy = job->copy;

	if (job->as == COPY_AS_OPTION)
		(void)message("--copy '%s:%s': '%s': %s", copy->source,
			      copy->target, what, why);
	else
		(void)message("cp '%s': %s", what, why);
	return -EINVAL;
}

int copy_check(const struct run_options *options, enum copy_as as)
{
	for (size_t i = 0; i < options->num_copies; i++) {
		const struct copy_job job = {
			.copy = &options->copies[i],
			.as = as,
		};

		if (access(job.copy->source, R_OK) < 0)
			return complain(&job, job.copy->source,
					strerrordesc_np(errno));
	}
	return 0;
}

/* DST is relative to the work directory; "DST/" takes the source's name. */
static int place_root(struct copy_job *job, const char *workdir)
{
	const char *target = job->copy->target;
	const char *slash = strrchr(job->copy->source, '/');
	const char *name = "";
	int n;

	if (target[strlen(target) - 1] == '/')
		name = slash ? slash + 1 : job->copy->source;
	n = snprintf(job->root, sizeof(job->root), "%s%s%s%s",
		     target[0] == '/' ? "" : workdir,
		     target[0] == '/' ? "" : "/", target, name);
	if (n < 0 || (size_t)n >= sizeof(job->root))
		return complain(job, target, "the path is too long");
	return 0;
}

/* "1000:100" → owner and group; a name is both. */
static void split_user(struct copy_job *job, const char *user)
{
	size_t len = strcspn(user, ":");

	(void)snprintf(job->owner, sizeof(job->owner), "%.*s", (int)len, user);
	(void)snprintf(job->group, sizeof(job->group), "%s",
		       user[len] == ':' ? user + len + 1 : job->owner);
}

/* @fd -1 and a path with a slash at its end: an empty directory. */
static int put(const struct copy_job *job, const char *path, mode_t mode,
	       int fd)
{
	const struct osb_file_spec spec = {
		.path = path,
		.owner = job->owner,
		.group = job->group,
		.mode = mode & 0777, /* set-id bits stay outside */
	};
	struct osb_error err;
	int r;

	r = osb_file_put(job->client, job->id, &spec, fd, &err);
	if (r < 0)
		(void)complain(job, path, err.message);
	return r;
}

static int put_file(const struct copy_job *job, const FTSENT *entry,
		    const char *inside)
{
	int file_fd auto_fd = -1;
	struct stat st;

	/* No O_NOFOLLOW: links to regular files are wanted. */
	file_fd = open(entry->fts_accpath, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (file_fd < 0 || fstat(file_fd, &st) < 0)
		return complain(job, entry->fts_path, strerrordesc_np(errno));
	if (S_ISDIR(st.st_mode))
		return complain(
			job, entry->fts_path,
			"a symbolic link to a directory can't be copied");
	return put(job, inside, st.st_mode, file_fd);
}

/* Is it, or does it link to, something that can be read like a file? */
static bool is_readable_kind(const FTSENT *entry)
{
	struct stat st;

	if (entry->fts_info == FTS_F)
		return true;
	if (entry->fts_info == FTS_SL)
		return stat(entry->fts_accpath, &st) == 0 &&
		       (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
	return entry->fts_info == FTS_DEFAULT &&
	       entry->fts_level == FTS_ROOTLEVEL;
}

static int put_entry(const struct copy_job *job, FTSENT *entry)
{
	const char *source = job->copy->source;
	size_t skip = strcmp(source, "/") == 0 ? 0 : strlen(source);
	char inside[INSIDE_MAX];
	int n;

	n = snprintf(inside, sizeof(inside), "%s%s%s", job->root,
		     entry->fts_path + skip,
		     entry->fts_info == FTS_DP ? "/" : "");
	if (n < 0 || (size_t)n >= sizeof(inside))
		return complain(job, entry->fts_path, "the path is too long");
	switch (entry->fts_info) {
	case FTS_D:
		entry->fts_parent->fts_number++;
		return 0;
	case FTS_DP: /* its files bring it along; an empty one has none */
		return entry->fts_number > 0 ? 0 : put(job, inside, 0755, -1);
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return complain(job, entry->fts_path,
				strerrordesc_np(entry->fts_errno));
	default:
		entry->fts_parent->fts_number++;
		if (is_readable_kind(entry))
			return put_file(job, entry, inside);
		return complain(
			job, entry->fts_path,
			"expected a regular file, a directory, or a link to a file");
	}
}

static int copy_one(const struct copy_job *job)
{
	char *roots[] = { job->copy->source, NULL };
	FTSENT *entry;
	FTS *fts;
	int r = 0;

	fts = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	if (!fts)
		return complain(job, job->copy->source, strerrordesc_np(errno));
	while (r == 0 && (errno = 0, entry = fts_read(fts)) != NULL)
		r = put_entry(job, entry);
	if (r == 0 && errno != 0)
		r = complain(job, job->copy->source, strerrordesc_np(errno));
	(void)fts_close(fts); /* only read from */
	return r;
}

int copy_all(struct osb_client *client, const char *id,
	     const struct run_options *options, enum copy_as as)
{
	const char *workdir =
		options->workdir ? options->workdir : DEFAULT_WORKDIR;
	int r = 0;

	for (size_t i = 0; r == 0 && i < options->num_copies; i++) {
		struct copy_job job = {
			.client = client,
			.id = id,
			.copy = &options->copies[i],
			.as = as,
		};

		split_user(&job, options->user);
		r = place_root(&job, workdir);
		if (r == 0)
			r = copy_one(&job);
	}
	return r;
}
