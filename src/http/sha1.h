/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sha1 - for the WebSocket handshake, and for nothing else
 *
 * RFC 6455 wants SHA-1 of a public value, where its weakness doesn't matter.
 * Linking libcrypto for that one hash would cost `osb` more start-up time
 * than the rest of its work.
 */

#include <stddef.h>
#include <stdint.h>

#define SHA1_LEN 20

/** sha1() - the digest of @len bytes */
void sha1(const void *data, size_t len, uint8_t ret_digest[SHA1_LEN]);
