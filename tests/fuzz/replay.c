/* SPDX-License-Identifier: Apache-2.0 */

/*
 * replay - run a fuzz target once over files, without any fuzzer
 *
 * replay-TARGET FILE|DIRECTORY...; part of `make unit`, so that an input that
 * once broke something is tried in every build, by every compiler.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "fuzz.h"

#define INPUT_MAX (1024u * 1024)

static int run_file(int dir_fd, const char *path)
{
	int fd auto_fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	uint8_t *all auto_free = malloc(INPUT_MAX);
	uint8_t *data auto_free = NULL;
	ssize_t n;

	if (fd < 0 || !all)
		return fd < 0 ? -errno : -ENOMEM;
	n = read(fd, all, INPUT_MAX);
	if (n < 0)
		return -errno;
	/* Of its own size: a read beyond it is seen. */
	data = malloc(n ? (size_t)n : 1);
	if (!data)
		return -ENOMEM;
	memcpy(data, all, (size_t)n);
	/* The name stays on the screen if this is the end of the process. */
	(void)printf("%s\n", path);
	(void)fflush(stdout);
	return LLVMFuzzerTestOneInput(data, (size_t)n);
}

/* Return: how many files, or -errno. */
static int run_directory(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int num = 0;
	int r = 0;

	if (!dir)
		return -errno;
	while (r >= 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		r = run_file(dirfd(dir), entry->d_name);
		num++;
	}
	(void)closedir(dir);
	return r < 0 ? r : num;
}

int main(int argc, char **argv)
{
	int num = 0;

	for (int i = 1; i < argc; i++) {
		struct stat st;
		int r = stat(argv[i], &st) < 0 ? -errno : 1;

		if (r > 0)
			r = S_ISDIR(st.st_mode) ? run_directory(argv[i])
						: run_file(AT_FDCWD, argv[i]);
		if (r < 0) {
			(void)fprintf(stderr, "%s: %s\n", argv[i],
				      strerrordesc_np(-r));
			return 1;
		}
		num += S_ISDIR(st.st_mode) ? r : 1;
	}
	if (num == 0) {
		(void)fprintf(stderr, "replay: no input\n");
		return 1;
	}
	(void)printf("%d inputs\n", num);
	return 0;
}
