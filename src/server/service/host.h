/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * host - the Host field of a request
 */

#include <stdbool.h>

/**
 * host_is_loopback() - does it name this machine, as no other can be named?
 *
 * localhost, 127.0.0.0/8 or [::1], each with a port or without.
 */
bool host_is_loopback(const char *in_host);
