/* SPDX-License-Identifier: Apache-2.0 */

#include "base/signals.h"

#include <signal.h>
#include <stddef.h>

void signals_reset(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		(void)sigaction(number, &action, NULL); /* KILL, STOP: EINVAL */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}
