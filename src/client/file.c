/* SPDX-License-Identifier: Apache-2.0 */

/*
 * file - stream one file into a sandbox, or out of it
 *
 * In: a multipart/form-data request in chunks, so that the length need not be
 * known ahead and memory stays constant. The server may refuse in mid-way (a
 * full disk): while sending we watch for an early answer, else both sides
 * could wait for each other.
 */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/conn.h"
#include "client/fail.h"
#include "client/request.h"
#include "http/url.h"
#include "http/write.h"
#include "osb/osb.h"

#define TARGET_MAX 256
#define QUERY_MAX (16u * 1024) /* a path with every byte encoded */
#define BOUNDARY_MAX 64
#define FILE_CHUNK (64u * 1024)

/* The request was cut short by the server's answer: not an error of ours. */
#define FILE_E_ANSWERED 1

/* Mode on the wire: decimal digits that read like octal, 0644 is 644. */
static json_int_t mode_digits(unsigned int mode)
{
	mode &= 07777;
	return ((mode >> 9) & 7) * 1000 + ((mode >> 6) & 7) * 100 +
	       ((mode >> 3) & 7) * 10 + (mode & 7);
}

static char *metadata_text(const struct osb_file_spec *spec)
{
	json_t *object auto_json = NULL;

	object = json_pack("{s:s, s:b, s:s*, s:s*, s:I}", "path", spec->path,
			   "verbatim", 1, "owner", spec->owner, "group",
			   spec->group, "mode",
			   mode_digits(spec->mode ? spec->mode : 0644));
	return object ? json_dumps(object, JSON_COMPACT) : NULL;
}

/* Random, so that no content can hold it but by a chance of 2^-128. */
static int make_boundary(char ret_boundary[BOUNDARY_MAX])
{
	uint64_t number[2];

	if (getrandom(number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	(void)snprintf(ret_boundary, BOUNDARY_MAX, "osb-%016llx%016llx",
		       (unsigned long long)number[0],
		       (unsigned long long)number[1]);
	return 0;
}

/*
 * Send what is in client->out.
 * Return: 0, FILE_E_ANSWERED, or -errno with @err.
 */
static int flush_part(struct osb_client *client, struct osb_error *err)
{
	struct pollfd poll_fd = { .fd = client->sock_fd };

	while (buf_len(&client->out) > 0) {
		ssize_t n = send(client->sock_fd, buf_data(&client->out),
				 buf_len(&client->out),
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			buf_consume(&client->out, (size_t)n);
			continue;
		}
		if (errno == EPIPE || errno == ECONNRESET)
			return FILE_E_ANSWERED;
		if (errno != EAGAIN && errno != EINTR)
			return client_fail(err, errno, "send to osbd");
		poll_fd.events = POLLIN | POLLOUT;
		(void)poll(&poll_fd, 1, -1); /* EINTR: send again tells */
		if (poll_fd.revents & POLLIN)
			return FILE_E_ANSWERED;
	}
	return 0;
}

static int send_content(struct osb_client *client, int fd,
			struct osb_error *err)
{
	uint8_t chunk[FILE_CHUNK];
	ssize_t n;
	int r;

	for (;;) {
		n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return client_fail(err, errno, "read the file");
		if (n == 0)
			return 0;
		http_put_chunk(&client->out, chunk, (size_t)n);
		r = flush_part(client, err);
		if (r != 0)
			return r;
	}
}

static void put_text_chunk(struct buf *out, const char *text)
{
	http_put_chunk(out, text, strlen(text));
}

/* The head, the metadata part and the head of the content's part. */
static void put_start(struct osb_client *client, const char *target,
		      const char *boundary, const char *metadata)
{
	char text[256];

	request_begin(client, "POST", target);
	(void)snprintf(text, sizeof(text), "multipart/form-data; boundary=%s",
		       boundary);
	http_put_field(&client->out, "Content-Type", text);
	http_put_field(&client->out, "Transfer-Encoding", "chunked");
	http_put_end(&client->out);

	(void)snprintf(text, sizeof(text),
		       "--%s\r\nContent-Disposition: form-data; "
		       "name=\"metadata\"; filename=\"metadata\"\r\n"
		       "Content-Type: application/json\r\n\r\n",
		       boundary);
	put_text_chunk(&client->out, text);
	put_text_chunk(&client->out, metadata);
	(void)snprintf(text, sizeof(text),
		       "\r\n--%s\r\nContent-Disposition: form-data; "
		       "name=\"file\"; filename=\"file\"\r\n"
		       "Content-Type: application/octet-stream\r\n\r\n",
		       boundary);
	put_text_chunk(&client->out, text);
}

static int send_file(struct osb_client *client, int fd, const char *boundary,
		     struct osb_error *err)
{
	char text[128];
	int r = 0;

	if (client->out.failed)
		return client_fail_text(err, EMSGSIZE, "the path is too long");
	if (fd >= 0)
		r = send_content(client, fd, err);
	if (r != 0)
		return r;
	(void)snprintf(text, sizeof(text), "\r\n--%s--\r\n", boundary);
	put_text_chunk(&client->out, text);
	http_put_last_chunk(&client->out);
	return flush_part(client, err);
}

int osb_file_put(struct osb_client *client, const char *id,
		 const struct osb_file_spec *spec, int fd,
		 struct osb_error *err)
{
	char *metadata auto_free = NULL;
	char boundary[BOUNDARY_MAX];
	char target[TARGET_MAX];
	unsigned int status;
	int r;

	r = request_id_ok(id, err);
	if (r < 0)
		return r;
	metadata = metadata_text(spec);
	if (!metadata)
		return client_fail_text(err, EINVAL,
					"a path or owner isn't UTF-8 text");
	r = make_boundary(boundary);
	if (r < 0)
		return client_fail(err, -r, "get random bytes");
	(void)snprintf(target, sizeof(target),
		       "/v1/sandboxes/%s/proxy/44772/files/upload", id);

	put_start(client, target, boundary, metadata);
	r = send_file(client, fd, boundary, err);
	if (r < 0)
		return r;
	r = request_answer(client, &status, err);
	if (r != 0)
		return r < 0 ? r : -EPIPE;
	if (status != 200)
		return client_fail_status(err, status, buf_data(&client->body),
					  buf_len(&client->body));
	return 0;
}

int osb_file_get(struct osb_client *client, const char *id, const char *path,
		 osb_bytes_fn fn, void *ctx, struct osb_error *err)
{
	struct buf target auto_clean(buf_deinit) = BUF_NULL;
	int r = request_id_ok(id, err);

	if (r < 0)
		return r;
	buf_init(&target, TARGET_MAX + QUERY_MAX);
	buf_addf(
		&target,
		"/v1/sandboxes/%s/proxy/44772/files/download?verbatim=true&path=",
		id);
	http_percent_encode(&target, path);
	buf_add(&target, "", 1);
	if (target.failed)
		return client_fail_text(err, ENAMETOOLONG,
					"the path is too long");
	return request_stream(client, (const char *)buf_data(&target), fn, ctx,
			      err);
}
