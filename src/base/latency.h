/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * latency_prefer() - run soon after waking up, for a short time
 *
 * For those who pass things on: a program that keeps a processor busy would
 * else hold them up for a slice of its own, while others may be idle. They get
 * no larger share. Forked children are ordinary again. Kernels before 6.12
 * don't know of it. See sched(7), sched_setattr(2).
 */
void latency_prefer(void);
