/* SPDX-License-Identifier: Apache-2.0 */

#include "server/service/host.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

bool host_is_loopback(const char *in_host)
{
	bool is_6 = *in_host == '[';
	const char *start = in_host + (is_6 ? 1 : 0);
	size_t len = strcspn(start, is_6 ? "]" : ":");
	const char *rest = start + len;
	char name[INET6_ADDRSTRLEN];
	struct in6_addr addr6;
	struct in_addr addr;

	if (len >= sizeof(name) || (is_6 && *rest++ != ']'))
		return false;
	if (*rest &&
	    (*rest != ':' || rest[1 + strspn(rest + 1, "0123456789")] != '\0'))
		return false;
	memcpy(name, start, len);
	name[len] = '\0';
	if (is_6)
		return inet_pton(AF_INET6, name, &addr6) == 1 &&
		       IN6_IS_ADDR_LOOPBACK(&addr6);
	return strcasecmp(name, "localhost") == 0 ||
	       (inet_pton(AF_INET, name, &addr) == 1 &&
		ntohl(addr.s_addr) >> 24 == 127);
}
