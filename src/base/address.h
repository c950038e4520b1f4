/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * address - where a stream socket listens: numbers and paths, never a name
 * that somebody would have to be asked about
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ADDRESS_TEXT_MAX 128
#define ADDRESS_ALLOWED                                                        \
	"IPV4, [IPV6] or localhost, each with :PORT or without, or unix:PATH " \
	"with at most 107 bytes"

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_storage storage;
		struct sockaddr_un local;
	} addr;
	socklen_t len;
};

/**
 * address_parse() - ADDRESS_ALLOWED
 * @port: what holds without one
 *
 * Return: 0, or -EINVAL.
 */
int address_parse(const char *text, uint16_t port, struct address *ret_address);

/** address_of() - what a socket is bound to; -errno, -EAFNOSUPPORT */
int address_of(int sock_fd, struct address *ret_address);

/** address_is_tcp() - else it is a unix socket */
bool address_is_tcp(const struct address *address);

/**
 * address_is_loopback() - can only this machine reach it?
 *
 * Of a unix socket: true.
 */
bool address_is_loopback(const struct address *address);

/** address_format() - as address_parse() takes it, with the port */
void address_format(const struct address *address,
		    char ret_text[ADDRESS_TEXT_MAX]);
