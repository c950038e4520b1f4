/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * disk_msg - between the broker and osb-disk, which makes layers on disk
 *
 * One request at a time by the broker; each TAKE has its TAKEN, each CLOSE its
 * CLOSED, which may come in between. Either side takes the end of the
 * connection for the other's death.
 */

#include <stdint.h>

/* What osb-disk starts with, by number; its one argument is the directory. */
enum disk_fd {
	DISK_FD_BROKER = 3, /* SEQPACKET pair */
};

enum disk_op {
	DISK_TAKE = 2,   /* struct disk_take */
	DISK_TAKEN = 1,  /* struct disk_taken + the detached mount */
	DISK_CLOSE = 4,  /* struct disk_close: nobody uses it any more */
	DISK_CLOSED = 3, /* struct disk_close: nothing of it is left */
};

struct disk_take {
	uint32_t op;
	uint32_t inodes;
	uint64_t bytes; /* that can be written to files */
};

struct disk_taken {
	uint32_t op;
	uint32_t kind; /* enum err_kind; 0: a descriptor comes along */
	int32_t sys;
	uint32_t layer; /* its number, over 0: for DISK_CLOSE */
	char msg[256];
};

struct disk_close {
	uint32_t op;
	uint32_t layer;
};
