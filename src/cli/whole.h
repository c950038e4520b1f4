/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * whole - write all bytes, however long the reader takes
 */

#include <stddef.h>

/** whole_write() - an osb_bytes_fn; the context is an int, the descriptor */
int whole_write(void *ctx, const void *data, size_t len);
