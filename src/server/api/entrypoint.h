/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * entrypoint - the program that a new sandbox begins with
 *
 * A background command like any other, as root; the sandbox outlives it.
 */

struct sandbox;

/**
 * entrypoint_start() - and tell when it has begun, or couldn't
 *
 * @fn may be called from within. What goes wrong is in the log only: the
 * sandbox is there, and its maker can look for himself.
 */
void entrypoint_start(struct sandbox *sandbox, void (*fn)(void *ctx),
		      void *ctx);
