/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * signals_reset() - back to what a program expects at its start
 *
 * Every signal does what it does by default, and none is blocked. An exec
 * keeps those that are ignored (nohup, a shell's background job), so whoever
 * starts programs for others has to undo that. Async-signal-safe. See
 * signal(7).
 */
void signals_reset(void);
