/* SPDX-License-Identifier: Apache-2.0 */

/*
 * netns - what a sandbox finds as its network: lo and nothing else
 *
 * See network_namespaces(7), rtnetlink(7).
 *
 * #syscalls  socket ioctl sendto recvfrom openat write close
 */

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "confine/confine.h"

/* "ip link set lo up", with an ordinary socket of this namespace. */
static int lo_up(void)
{
	struct ifreq ifr = { .ifr_name = "lo" };
	int sock_fd auto_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	ifr.ifr_flags = IFF_UP;
	if (sock_fd < 0 || ioctl(sock_fd, SIOCSIFFLAGS, &ifr) < 0)
		return -errno;
	return 0;
}

/*
 * "ip -6 route add prohibit default": with lo alone there is no way out over
 * IPv6 anyway; this says so by rule, and ::1 keeps working.
 */
static int prohibit_ipv6(void)
{
	struct {
		struct nlmsghdr nlh;
		struct rtmsg rtm;
	} req = {
		.nlh = { .nlmsg_len = sizeof(req),
			 .nlmsg_type = RTM_NEWROUTE,
			 .nlmsg_flags =
				 NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK },
		.rtm = { .rtm_family = AF_INET6,
			 .rtm_table = RT_TABLE_MAIN,
			 .rtm_protocol = RTPROT_STATIC,
			 .rtm_type = RTN_PROHIBIT },
	};
	struct {
		struct nlmsghdr nlh;
		struct nlmsgerr err;
		char rest[128];
	} ack;
	int sock_fd auto_fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (sock_fd < 0 || send(sock_fd, &req, sizeof(req), 0) < 0 ||
	    recv(sock_fd, &ack, sizeof(ack), 0) <
		    (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)))
		return -errno;
	if (ack.nlh.nlmsg_type != NLMSG_ERROR)
		return -EPROTO;
	/* A kernel without IPv6 has nothing to prohibit. */
	return ack.err.error == -EAFNOSUPPORT || ack.err.error == -EOPNOTSUPP
		       ? 0
		       : ack.err.error;
}

int confine_netns(int proc_fd)
{
	int r;

	r = lo_up();
	if (r == 0)
		r = prohibit_ipv6();
	if (r == 0)
		r = file_write_at(proc_fd,
				  "sys/net/ipv4/ip_unprivileged_port_start",
				  "0");
	return r;
}
