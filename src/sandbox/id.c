/* SPDX-License-Identifier: Apache-2.0 */

#include "sandbox/id.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>

int id_new(char ret_id[SANDBOX_ID_LEN + 1])
{
	uint8_t random[SANDBOX_ID_LEN / 2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	for (unsigned int i = 0; i < sizeof(random); i++)
		(void)snprintf(ret_id + 2 * i, 3, "%02x", random[i]);
	return 0;
}
