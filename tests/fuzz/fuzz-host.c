/* SPDX-License-Identifier: Apache-2.0 */

/*
 * host - the Host field of requests that nobody has to present a key for
 *
 * Input: the field's value.
 */

#include <ctype.h>

#include "fuzz.h"
#include "server/service/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = { data, size };
	size_t len;
	char *host auto_free = fuzz_take(&in, in.len, &len);
	const char *port;

	if (!host_is_loopback(host))
		return 0;
	/* What is taken is one of three forms; no other name can be in it. */
	port = strrchr(host, ':');
	if (*host == '[')
		CHECK(strchr(host, ']') != NULL);
	else
		CHECK(tolower((unsigned char)*host) == 'l' || *host == '1');
	CHECK(*host != '[' ? strcspn(host, ":") <= strlen("255.255.255.255")
			   : strlen(host) > strlen("[::]"));
	for (; *host != '[' && port && *++port;)
		CHECK(*port >= '0' && *port <= '9');
	return 0;
}
