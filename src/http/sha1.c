/* SPDX-License-Identifier: Apache-2.0 */

#include "http/sha1.h"

#include <string.h>

#define BLOCK 64

static uint32_t rotate(uint32_t x, unsigned int n)
{
	return x << n | x >> (32 - n);
}

static uint32_t load_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

static void store_be32(uint8_t *p, uint32_t x)
{
	p[0] = (uint8_t)(x >> 24);
	p[1] = (uint8_t)(x >> 16);
	p[2] = (uint8_t)(x >> 8);
	p[3] = (uint8_t)x;
}

/* FIPS 180-4, 6.1.2. */
static void hash_block(uint32_t h[5], const uint8_t *block)
{
	uint32_t w[80];
	uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];

	for (unsigned int t = 0; t < 16; t++)
		w[t] = load_be32(block + t * 4);
	for (unsigned int t = 16; t < 80; t++)
		w[t] = rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
	for (unsigned int t = 0; t < 80; t++) {
		uint32_t f, k, next;

		if (t < 20) {
			f = (b & c) ^ (~b & d);
			k = 0x5a827999;
		} else if (t < 40) {
			f = b ^ c ^ d;
			k = 0x6ed9eba1;
		} else if (t < 60) {
			f = (b & c) ^ (b & d) ^ (c & d);
			k = 0x8f1bbcdc;
		} else {
			f = b ^ c ^ d;
			k = 0xca62c1d6;
		}
		next = rotate(a, 5) + f + e + k + w[t];
		e = d;
		d = c;
		c = rotate(b, 30);
		b = a;
		a = next;
	}
	h[0] += a;
	h[1] += b;
	h[2] += c;
	h[3] += d;
	h[4] += e;
}

void sha1(const void *data, size_t len, uint8_t ret_digest[SHA1_LEN])
{
	uint32_t h[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
			  0xc3d2e1f0 };
	const uint8_t *p = data;
	uint8_t last[2 * BLOCK] = { 0 };
	size_t rest = len % BLOCK;
	size_t last_len = rest + 9 > BLOCK ? 2 * BLOCK : BLOCK;

	for (size_t i = 0; i + BLOCK <= len; i += BLOCK)
		hash_block(h, p + i);
	memcpy(last, p + len - rest, rest);
	last[rest] = 0x80;
	store_be32(last + last_len - 8, (uint32_t)((uint64_t)len >> 29));
	store_be32(last + last_len - 4, (uint32_t)(len << 3));
	for (size_t i = 0; i < last_len; i += BLOCK)
		hash_block(h, last + i);
	for (unsigned int i = 0; i < 5; i++)
		store_be32(ret_digest + i * 4, h[i]);
}
