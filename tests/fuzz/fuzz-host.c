/* SPDX-License-Identifier: Apache-2.0 */

/*
 * host - the Host field of requests that nobody has to present a key for
 *
 * Input: the field's value.
 */

#include <strings.h>

#include "fuzz.h"
#include "server/service/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *host auto_free = strndup((const char *)data, size);
	size_t name;

	CHECK(host);
	if (!host_is_loopback(host))
		return 0;
	/* What is taken is one of three forms; no other name can be in it. */
	if (strncmp(host, "[", 1) == 0) {
		CHECK(strstr(host, "1]"));
		return 0;
	}
	name = strcspn(host, ":");
	CHECK(strncmp(host, "127.", 4) == 0 ||
	      (name == 9 && strncasecmp(host, "localhost", 9) == 0));
	CHECK(strspn(host + name, ":0123456789") == strlen(host + name));
	return 0;
}
