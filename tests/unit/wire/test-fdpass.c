/* SPDX-License-Identifier: Apache-2.0 */

#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "wire/fdpass.h"

struct pair {
	int near_fd;
	int far_fd;
	int null_fd;  /* something to send */
	int num_open; /* descriptors of this process before the test */
};

static int count_open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int num = 0;

	assert_non_null(dir);
	while (readdir(dir))
		num++;
	(void)closedir(dir);
	return num;
}

static int set_up(void **state)
{
	static struct pair pair;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return -1;
	pair.near_fd = fds[0];
	pair.far_fd = fds[1];
	pair.null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pair.num_open = count_open_fds();
	*state = &pair;
	return 0;
}

static int tear_down(void **state)
{
	struct pair *pair = *state;

	close_fd(&pair->near_fd);
	close_fd(&pair->far_fd);
	close_fd(&pair->null_fd);
	return 0;
}

/* As a peer that doesn't keep to our limits: @num fds in one message. */
static void send_raw(int sock_fd, int fd, unsigned int num)
{
	char control[CMSG_SPACE(sizeof(int) * 64)] = { 0 };
	struct iovec iov = { .iov_base = (char[]){ 'x' }, .iov_len = 1 };
	struct msghdr hdr = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = CMSG_SPACE(sizeof(int) * num),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&hdr);

	assert_true(num <= 64);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int) * num);
	for (unsigned int i = 0; i < num; i++)
		memcpy(CMSG_DATA(cmsg) + i * sizeof(int), &fd, sizeof(fd));
	assert_int_equal(sendmsg(sock_fd, &hdr, 0), 1);
}

static void a_message_arrives_whole(void **state)
{
	const struct pair *pair = *state;
	char buf[16];
	size_t len = 0;

	assert_int_equal(fdpass_send(pair->near_fd, "hello", 5, NULL, 0), 0);
	assert_int_equal(fdpass_send2(pair->near_fd, "he", 2, "y!", 2, NULL, 0),
			 0);
	assert_int_equal(fdpass_recv(pair->far_fd, buf, sizeof(buf), 0, &len,
				     NULL),
			 0);
	assert_int_equal(len, 5);
	assert_memory_equal(buf, "hello", 5);
	assert_int_equal(fdpass_recv(pair->far_fd, buf, sizeof(buf), 0, &len,
				     NULL),
			 0);
	assert_int_equal(len, 4);
	assert_memory_equal(buf, "hey!", 4);
}

static void descriptors_arrive_with_cloexec(void **state)
{
	const struct pair *pair = *state;
	struct fdset set auto_clean(fdset_close) = FDSET_NULL;
	struct stat sent, got;
	char buf[1];
	size_t len;
	int fd auto_fd = -1;

	assert_int_equal(fdpass_send(pair->near_fd, "x", 1, &pair->null_fd, 1),
			 0);
	assert_int_equal(fdpass_recv(pair->far_fd, buf, 1, 0, &len, &set), 0);
	assert_int_equal(set.num, 1);
	fd = fdset_take(&set, 0);
	assert_true(fd >= 0);
	assert_int_equal(fdset_take(&set, 0), -1);
	assert_int_equal(fdset_take(&set, 1), -1);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(fstat(fd, &got), 0);
	assert_int_equal(fstat(pair->null_fd, &sent), 0);
	assert_int_equal(got.st_rdev, sent.st_rdev);
}

static void as_many_as_allowed_arrive_and_close(void **state)
{
	const struct pair *pair = *state;
	struct fdset set = FDSET_NULL;
	int fds[FDPASS_MAX];
	char buf[1];
	size_t len;

	for (unsigned int i = 0; i < FDPASS_MAX; i++)
		fds[i] = pair->null_fd;
	assert_int_equal(fdpass_send(pair->near_fd, "x", 1, fds, FDPASS_MAX),
			 0);
	assert_int_equal(fdpass_recv(pair->far_fd, buf, 1, 0, &len, &set), 0);
	assert_int_equal(set.num, FDPASS_MAX);
	assert_int_equal(count_open_fds(), pair->num_open + FDPASS_MAX);
	fdset_close(&set);
	assert_int_equal(set.num, 0);
	assert_int_equal(count_open_fds(), pair->num_open);
}

static void surplus_descriptors_are_refused_and_closed(void **state)
{
	const struct pair *pair = *state;
	struct fdset set = FDSET_NULL;
	char buf[1];
	size_t len = 7;

	send_raw(pair->near_fd, pair->null_fd, FDPASS_MAX + 6);
	assert_int_equal(fdpass_recv(pair->far_fd, buf, 1, 0, &len, &set),
			 -EBADMSG);
	assert_int_equal(len, 7);
	assert_int_equal(set.num, 0);
	assert_int_equal(count_open_fds(), pair->num_open);
}

static void unwanted_descriptors_are_refused_and_closed(void **state)
{
	const struct pair *pair = *state;
	char buf[1];
	size_t len;

	send_raw(pair->near_fd, pair->null_fd, 2);
	assert_int_equal(fdpass_recv(pair->far_fd, buf, 1, 0, &len, NULL),
			 -EBADMSG);
	assert_int_equal(count_open_fds(), pair->num_open);
}

static void a_receiver_may_have_them_refused_at_the_sender(void **state)
{
	const struct pair *pair = *state;
	char buf[1];
	size_t len;
	int r;

	fdpass_refuse(pair->far_fd);
	r = fdpass_send(pair->near_fd, "x", 1, &pair->null_fd, 1);
	if (r == 0) { /* before Linux 6.16 it doesn't know how */
		assert_int_equal(fdpass_recv(pair->far_fd, buf, 1, 0, &len,
					     NULL),
				 -EBADMSG);
		return;
	}
	assert_int_equal(r, -EPERM);
	assert_int_equal(fdpass_send(pair->near_fd, "x", 1, NULL, 0), 0);
	assert_int_equal(fdpass_recv(pair->far_fd, buf, 1, 0, &len, NULL), 0);
}

static void a_message_too_long_is_refused_with_its_descriptors(void **state)
{
	const struct pair *pair = *state;
	struct fdset set = FDSET_NULL;
	char buf[4];
	size_t len;

	assert_int_equal(fdpass_send(pair->near_fd, "hello", 5, &pair->null_fd,
				     1),
			 0);
	assert_int_equal(fdpass_recv(pair->far_fd, buf, sizeof(buf), 0, &len,
				     &set),
			 -EMSGSIZE);
	assert_int_equal(set.num, 0);
	assert_int_equal(count_open_fds(), pair->num_open);
}

static void the_next_message_after_a_bad_one_is_read(void **state)
{
	const struct pair *pair = *state;
	char buf[4];
	size_t len;

	send_raw(pair->near_fd, pair->null_fd, 40);
	assert_int_equal(fdpass_send(pair->near_fd, "ok", 2, NULL, 0), 0);
	assert_int_equal(fdpass_recv(pair->far_fd, buf, sizeof(buf), 0, &len,
				     NULL),
			 -EBADMSG);
	assert_int_equal(fdpass_recv(pair->far_fd, buf, sizeof(buf), 0, &len,
				     NULL),
			 0);
	assert_memory_equal(buf, "ok", 2);
}

static void a_closed_peer_is_a_message_of_length_zero(void **state)
{
	struct pair *pair = *state;
	char buf[4];
	size_t len = 7;

	close_fd(&pair->near_fd);
	assert_int_equal(fdpass_recv(pair->far_fd, buf, sizeof(buf), 0, &len,
				     NULL),
			 0);
	assert_int_equal(len, 0);
}

static void sending_to_a_closed_peer_is_an_error_not_a_signal(void **state)
{
	struct pair *pair = *state;

	close_fd(&pair->far_fd);
	assert_int_equal(fdpass_send(pair->near_fd, "x", 1, NULL, 0), -EPIPE);
}

static void an_empty_socket_says_again(void **state)
{
	const struct pair *pair = *state;
	char buf[4];
	size_t len;

	assert_int_equal(fdpass_recv(pair->far_fd, buf, sizeof(buf),
				     MSG_DONTWAIT, &len, NULL),
			 -EAGAIN);
}

#define PAIR_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(a_message_arrives_whole),
		PAIR_TEST(descriptors_arrive_with_cloexec),
		PAIR_TEST(as_many_as_allowed_arrive_and_close),
		PAIR_TEST(surplus_descriptors_are_refused_and_closed),
		PAIR_TEST(unwanted_descriptors_are_refused_and_closed),
		PAIR_TEST(a_receiver_may_have_them_refused_at_the_sender),
		PAIR_TEST(a_message_too_long_is_refused_with_its_descriptors),
		PAIR_TEST(the_next_message_after_a_bad_one_is_read),
		PAIR_TEST(a_closed_peer_is_a_message_of_length_zero),
		PAIR_TEST(sending_to_a_closed_peer_is_an_error_not_a_signal),
		PAIR_TEST(an_empty_socket_says_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
