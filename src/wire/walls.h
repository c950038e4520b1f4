/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * walls - the image's own directories, where no volume may be put
 *
 * The broker refuses them, whatever osbd lets pass; osbd refuses the same
 * ones, so that it can say why.
 */

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define WALLS_TEXT                                                      \
	"/dev /proc /sys /usr /bin /lib /etc /sbin /opt /lib32 /lib64 " \
	"/libx32"

/** walls_hold() - is @path one of them, or below one? */
static inline bool walls_hold(const char *path)
{
	static const char walls[] = WALLS_TEXT;

	for (const char *wall = walls; *wall;) {
		size_t len = strcspn(wall, " ");

		if (strncmp(path, wall, len) == 0 &&
		    (path[len] == '/' || path[len] == '\0'))
			return true;
		wall += len;
		wall += strspn(wall, " ");
	}
	return false;
}
