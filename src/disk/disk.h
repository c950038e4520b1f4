/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * disk - the parts of osb-disk, and what they share
 *
 *   main.c      the broker's requests, closing, the loop
 *   layer.c     make a layer; is there room for it?
 *   template.c  file systems to copy, by mke2fs
 *   loop.c      loop devices of our own
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define DISK_BLOCK 4096u

#define LAYERS_MAX 4096
#define TEMPLATES_MAX 8
#define LOOPS_FREE_MAX 8

struct template
{
	uint64_t bytes; /* that can be written to files in it */
	uint32_t inodes;
	uint64_t file_bytes;
	int fd; /* -1: none */
};

/*
 * LAYER_FREE     nothing valid.
 * LAYER_USED     a sandbox's, or the spare one.
 * LAYER_CLOSING  pid is at it; its descriptors are closed here.
 */
enum layer_state {
	LAYER_FREE,
	LAYER_USED,
	LAYER_CLOSING,
};

struct layer {
	enum layer_state state;
	uint64_t bytes;
	uint32_t inodes;
	uint64_t file_bytes;
	int loop;    /* number of its loop device */
	int file_fd; /* what is behind that */
	int mnt_fd;  /* of the spare one, else -1 */
	int dir_fd;  /* its root */
	pid_t pid;
};

struct loops {
	int dir_fd, control_fd;
	int next; /* number to try */
	unsigned int num_free;
	int free[LOOPS_FREE_MAX]; /* ours, cleared */
};

struct disk {
	const char *path; /* where files of layers lie */
	int dir_fd;       /* the same */
	int signal_fd;
	struct loops loops;
	unsigned int next_template;
	struct template templates[TEMPLATES_MAX];
	const struct template *wanted; /* make a spare one of it; or NULL */
	struct layer *spare;           /* or NULL */
	unsigned int num_layers;       /* not FREE */
	struct layer layers[LAYERS_MAX];
};

/**
 * template_get() - a file system of just that size, made if need be
 *
 * Return: valid until the next call; NULL with @err saying why.
 */
const struct template *template_get(struct disk *disk, uint64_t bytes,
				    uint32_t inodes, struct err *err);

/** template_overhead() - about what a file system takes beside the files */
uint64_t template_overhead(uint32_t inodes);

/** template_copy() - a new file with the same content */
int template_copy(const struct disk *disk, const struct template *from,
		  int *ret_fd);

/**
 * layer_take() - a layer and its detached mount, the spare one or new
 *
 * Return: NULL with @err saying why.
 */
struct layer *layer_take(struct disk *disk, uint64_t bytes, uint32_t inodes,
			 int *ret_mnt_fd, struct err *err);

/** layer_prepare() - make one of the last size ahead; in quiet moments */
void layer_prepare(struct disk *disk);

/** layer_close() - begin to close it, in a process of its own */
void layer_close(struct disk *disk, struct layer *layer);

/** layer_closed() - that process has ended: the layer is FREE */
void layer_closed(struct disk *disk, struct layer *layer);

/** loop_open() - also removes what others left */
int loop_open(struct loops *loops, struct err *err);

/** loop_close() - remove what is ours and free, and what others left */
void loop_close(struct loops *loops);

/** loop_promised() - bytes of all files behind loop devices of all brokers */
uint64_t loop_promised(const struct loops *loops);

/**
 * loop_attach() - a loop device over @file_fd
 * @ret_fd: keeps it set up until a mount does
 */
int loop_attach(struct loops *loops, int file_fd, uint64_t file_bytes,
		int *ret_number, int *ret_fd);

/** loop_path() - "/dev/loopN" */
void loop_path(int number, char buf[static 32]);

/** loop_release() - it is cleared: keep it for another, or remove it */
void loop_release(struct loops *loops, int number, uint64_t file_bytes);
