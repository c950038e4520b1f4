/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * files_msg - one file request, between osbd and an osb-files helper
 *
 * Started by init with INIT_EXEC_FILES inside the sandbox, as the uid asked:
 *
 *   osb-files put PATH MODE|- UID|- GID|-   stdin: the content, to EOF
 *   osb-files get PATH OFFSET LENGTH|-      stdout: struct files_reply, content
 *
 * put makes missing parents (0755), writes to a temporary name beside PATH
 * and renames, so that a reader never sees half a file.
 * Every run writes exactly one struct files_reply to stdout: put at its end,
 * get before the content. Hostile to osbd until checked.
 */

#include <stdint.h>

#define FILES_REPLY_MAGIC 0x4f534246u

struct files_reply {
	uint32_t magic;
	uint32_t kind; /* enum err_kind, 0: done */
	int32_t sys;
	uint32_t mode;   /* of the file, permission bits */
	uint64_t size;   /* whole file */
	uint64_t length; /* get: bytes that follow */
	char msg[256];
};
