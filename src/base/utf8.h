/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * utf8 - text that was cut somewhere
 */

#include <stddef.h>

/**
 * utf8_whole() - how many of @len bytes are left without a character at their
 * end of which the rest is missing
 *
 * What isn't UTF-8 in any case stays: only a beginning is taken away.
 */
size_t utf8_whole(const void *data, size_t len);
