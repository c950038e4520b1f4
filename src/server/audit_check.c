/* SPDX-License-Identifier: Apache-2.0 */

/*
 * audit_check - look into an osbd's database as the osbd that owns it
 *
 * Process:    one of its own, most often root's: `osb audit verify`.
 * Input from: files that an osbd wrote, which may have been taken over:
 *             hostile. So SQLite reads them without any privilege.
 */

#include "server/audit_check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "confine/confine.h"
#include "server/server.h"
#include "store/store.h"

#define OSBD_DIR "osbd"
#define EXIT_BROKEN 1
#define EXIT_UNKNOWN 125 /* as osb says it for "we failed" */
#define TIME_MAX 32

static int open_dir(const char *dir, int *ret_fd, struct err *err)
{
	int state_fd auto_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd auto_fd = -1;

	if (state_fd < 0)
		return err_set(err, ERR_NOT_FOUND, errno,
			       "state directory '%s'", dir);
	fd = openat(state_fd, OSBD_DIR,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, ERR_NOT_FOUND, errno,
			       "state directory '%s/%s'", dir, OSBD_DIR);
	*ret_fd = take_fd(&fd);
	return 0;
}

static int become_owner(int dir_fd, struct err *err)
{
	struct stat st;
	int r;

	if (geteuid() != 0)
		return 0;
	if (fstat(dir_fd, &st) < 0)
		return err_set(err, ERR_INTERNAL, errno, "state directory");
	r = confine_daemon(st.st_uid, st.st_gid);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "become user %u",
			       st.st_uid);
	return 0;
}

static void format_time(int64_t time_us, char ret_text[TIME_MAX])
{
	time_t seconds = time_us / 1000000;
	struct tm tm;

	if (time_us <= 0 || !gmtime_r(&seconds, &tm) ||
	    strftime(ret_text, TIME_MAX, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		(void)snprintf(ret_text, TIME_MAX, "at no known time");
}

/* It may hold bytes from the files. */
static void clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

static int report(int broken, struct store_check *check)
{
	char when[TIME_MAX];

	if (!broken) {
		(void)printf("audit: %" PRIu64 " record%s, intact, head "
			     "signed\n",
			     check->num, check->num == 1 ? "" : "s");
	} else {
		format_time(check->bad_time_us, when);
		clean(check->what);
		(void)printf("audit: record %" PRIu64 " (%s): %s\n",
			     check->bad_seq, when, check->what);
	}
	if (fflush(stdout) != 0) {
		server_log("write stdout: %s", strerrordesc_np(errno));
		return EXIT_UNKNOWN;
	}
	return broken ? EXIT_BROKEN : 0;
}

int audit_check_run(const char *dir)
{
	struct store_check check = { .num = 0 };
	struct err err = ERR_NULL;
	int dir_fd auto_fd = -1;
	int r;

	r = open_dir(dir, &dir_fd, &err);
	if (r == 0)
		r = become_owner(dir_fd, &err);
	if (r == 0)
		r = store_check_audit(dir_fd, &check, &err);
	if (r < 0) {
		server_log("%s", err.msg);
		return EXIT_UNKNOWN;
	}
	return report(r, &check);
}
