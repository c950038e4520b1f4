/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * hostile - what the programs of this folder share
 *
 *   osbd.c     takes the place of osbd: does to the broker what it is told
 *   message.c  requests with anything in any field
 *   gift.c     descriptors that harm who receives or closes them
 *   grab.c     what osbd's own privileges must not allow
 *   init.c     takes the place of osb-init: launcher and init
 *   speak.c    what a hostile init says to osbd
 *   lax.c      a broker without one of its checks: the tests' control
 *
 * They are test programs: never installed, and harmless without a test that
 * drives them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/broker_msg.h"

#define GIFTS_MAX 253 /* the kernel's limit per message */

struct message {
	union {
		struct broker_hello hello;
		struct broker_create create;
		struct broker_destroy destroy;
		uint8_t raw[4 * BROKER_MSG_MAX];
	};
	size_t len;
	unsigned int num_fds;
	char fd_kind[16];
};

/** message_parse() - see message.c. Return: 0, or -EINVAL */
int message_parse(struct message *message, char *words);

/**
 * gift_open() - one descriptor to send along
 * @kind: null, memfd, fifo, socket, directory, fuse, linger
 */
int gift_open(const char *kind, int *ret_fd);

/** gift_send() - a message with up to GIFTS_MAX times the same descriptor */
int gift_send(int sock_fd, const void *msg, size_t len, int fd,
	      unsigned int num_fds);

/**
 * grab() - try something that osbd must not be able to do
 *
 * Return: 0: it could; -errno: it couldn't; -EINVAL for an unknown name too.
 */
int grab(const char *name, const char *arg);

struct init;

struct speech {
	int sock_fd; /* to osbd */
	uint32_t exec_id;
	int out_fd; /* the program's stdout, or -1 */
	struct init *init;
};

/** speak() - what an attacker in init says or does; see speak.c */
void speak(const struct speech *speech, char *word);
