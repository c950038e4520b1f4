/* SPDX-License-Identifier: Apache-2.0 */

#include "base/signals.h"

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KERNEL_SIGSET_BYTES 8u

void signals_reset(void)
{
	/* The kernel's own struct: a handler, flags, restorer and mask. */
	static const uint64_t by_default[4];
	sigset_t none;

	/* glibc keeps its own two, 32 and 33, from us; KILL, STOP: EINVAL */
	for (int number = 1; number < NSIG; number++)
		(void)syscall(SYS_rt_sigaction, number, by_default, NULL,
			      KERNEL_SIGSET_BYTES);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}
