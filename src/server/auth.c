/* SPDX-License-Identifier: Apache-2.0 */

/*
 * #syscalls  read close getsockopt
 */

#include "server/auth.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"

#define KEYS_FILE_MAX (256u * 1024)

struct key {
	char domain[DOMAIN_NAME_MAX + 1];
	char secret[KEY_LEN_MAX]; /* zero to its end */
	size_t len;
};

static bool name_ok(const char *name, size_t len)
{
	if (len == 0 || len > KEY_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = name[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (c >= '0' && c <= '9') || c == '.' || c == '_' ||
		      c == '-'))
			return false;
	}
	return true;
}

/* A key travels in a header field: visible ASCII. */
static bool secret_ok(const char *secret, size_t len)
{
	if (len == 0 || len > KEY_LEN_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (secret[i] <= ' ' || secret[i] > '~')
			return false;
	return true;
}

/* One line without its end. The message must not hold the key. */
static int add_key(struct keys *keys, const char *line, size_t len,
		   unsigned int line_number, struct err *err)
{
	const char *colon = memchr(line, ':', len);
	const char *name = colon ? line : "default";
	size_t name_len = colon ? (size_t)(colon - line) : strlen(name);
	const char *secret = colon ? colon + 1 : line;
	size_t secret_len = len - (size_t)(secret - line);
	struct key *key;

	if (!name_ok(name, name_len))
		return err_set(err, ERR_INVALID, 0,
			       "key file, line %u: a name is 1 to %d of "
			       "[A-Za-z0-9._-]",
			       line_number, KEY_NAME_MAX);
	if (!secret_ok(secret, secret_len))
		return err_set(err, ERR_INVALID, 0,
			       "key file, line %u: a key is 1 to %d visible "
			       "ASCII characters",
			       line_number, KEY_LEN_MAX);
	if (keys->num == KEYS_MAX)
		return err_set(err, ERR_INVALID, 0, "key file: over %d keys",
			       KEYS_MAX);
	key = &keys->key[keys->num++];
	memset(key, 0, sizeof(*key));
	(void)snprintf(key->domain, sizeof(key->domain), "key:%.*s",
		       (int)name_len, name);
	memcpy(key->secret, secret, secret_len);
	key->len = secret_len;
	return 0;
}

static int add_lines(struct keys *keys, const char *text, size_t len,
		     struct err *err)
{
	unsigned int line_number = 0;

	for (size_t at = 0; at < len;) {
		const char *line = text + at;
		const char *end = memchr(line, '\n', len - at);
		size_t line_len = end ? (size_t)(end - line) : len - at;
		int r;

		at += line_len + 1;
		line_number++;
		if (line_len && line[line_len - 1] == '\r')
			line_len--;
		if (line_len == 0 || *line == '#')
			continue;
		r = add_key(keys, line, line_len, line_number, err);
		if (r < 0)
			return r;
	}
	if (keys->num == 0)
		return err_set(err, ERR_INVALID, 0, "key file: no key in it");
	return 0;
}

int keys_parse(const char *text, size_t len, struct keys *ret_keys,
	       struct err *err)
{
	struct keys keys = { .key = calloc(KEYS_MAX, sizeof(struct key)) };
	int r;

	if (!keys.key)
		return err_set(err, ERR_INTERNAL, ENOMEM, "read the key file");
	r = add_lines(&keys, text, len, err);
	if (r < 0) {
		keys_deinit(&keys);
		return r;
	}
	*ret_keys = keys;
	return 0;
}

int keys_load(int fd, struct keys *ret_keys, struct err *err)
{
	char *text auto_free = malloc(KEYS_FILE_MAX);
	size_t len = 0;
	int r;

	if (!text)
		return err_set(err, ERR_INTERNAL, ENOMEM, "read the key file");
	r = file_read_whole(fd, text, KEYS_FILE_MAX, &len);
	if (r < 0)
		r = err_set(err, ERR_INVALID, -r, "read the key file");
	else
		r = keys_parse(text, len, ret_keys, err);
	explicit_bzero(text, KEYS_FILE_MAX);
	return r;
}

void keys_deinit(struct keys *keys)
{
	if (keys->key)
		explicit_bzero(keys->key, KEYS_MAX * sizeof(struct key));
	free(keys->key);
	keys->key = NULL;
	keys->num = 0;
}

const char *keys_find(const struct keys *keys, const char *in_key)
{
	char padded[KEY_LEN_MAX] = { 0 };
	size_t len = strlen(in_key);
	const char *found = NULL;

	if (len > sizeof(padded))
		len = 0; /* matches none: no key is empty */
	memcpy(padded, in_key, len);
	for (size_t i = 0; i < keys->num; i++) {
		const struct key *key = &keys->key[i];
		size_t diff = key->len ^ len;

		for (size_t k = 0; k < KEY_LEN_MAX; k++)
			diff |= (size_t)(key->secret[k] ^ padded[k]);
		if (diff == 0)
			found = key->domain;
	}
	return found;
}

int auth_peer_domain(int sock_fd, char ret_domain[DOMAIN_NAME_MAX + 1])
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(sock_fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return -errno;
	(void)snprintf(ret_domain, DOMAIN_NAME_MAX + 1, "uid:%u", peer.uid);
	return 0;
}
