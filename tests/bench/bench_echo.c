/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_echo - the least that an HTTP server does, as a peer for osbd's
 *
 * usage: bench_echo BYTES
 *
 * libuv and http-parser, as in osbd; every request is answered with the same
 * 200 and a body of BYTES. Prints the port on 127.0.0.1 that it listens on.
 */

#include <http_parser.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

struct peer {
	uv_tcp_t tcp;
	http_parser parser;
	char data[65536];
};

static char answer[16384];
static unsigned int answer_len;

static void on_closed(uv_handle_t *handle)
{
	free(handle);
}

static void on_written(uv_write_t *write, int status)
{
	(void)status;
	free(write);
}

static int on_complete(http_parser *parser)
{
	struct peer *peer = parser->data;
	uv_buf_t buf = uv_buf_init(answer, answer_len);
	uv_write_t *write;

	if (uv_try_write((uv_stream_t *)&peer->tcp, &buf, 1) == (int)answer_len)
		return 0;
	write = malloc(sizeof(*write));
	return write ? uv_write(write, (uv_stream_t *)&peer->tcp, &buf, 1,
				on_written)
		     : -1;
}

static void give_room(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct peer *peer = (struct peer *)handle;

	(void)size;
	*buf = uv_buf_init(peer->data, sizeof(peer->data));
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
	static http_parser_settings settings = { .on_message_complete =
							 on_complete };
	struct peer *peer = (struct peer *)stream;

	if (len < 0 || http_parser_execute(&peer->parser, &settings, buf->base,
					   (size_t)len) != (size_t)len)
		uv_close((uv_handle_t *)stream, on_closed);
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct peer *peer = calloc(1, sizeof(*peer));

	if (status < 0 || !peer || uv_tcp_init(listener->loop, &peer->tcp) < 0)
		exit(1);
	http_parser_init(&peer->parser, HTTP_REQUEST);
	peer->parser.data = peer;
	if (uv_accept(listener, (uv_stream_t *)&peer->tcp) < 0 ||
	    uv_tcp_nodelay(&peer->tcp, 1) < 0 ||
	    uv_read_start((uv_stream_t *)&peer->tcp, give_room, on_read) < 0)
		exit(1);
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	struct sockaddr_in addr;
	int len = sizeof(addr);
	unsigned long bytes = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	uv_tcp_t listener;

	if (bytes < 1 || bytes > sizeof(answer) / 2)
		return 2;
	answer_len = (unsigned int)
		snprintf(answer, sizeof(answer),
			 "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
			 "Content-Length: %lu\r\n\r\n",
			 bytes);
	memset(answer + answer_len, 'x', bytes);
	answer_len += (unsigned int)bytes;
	if (!loop || uv_tcp_init(loop, &listener) < 0 ||
	    uv_ip4_addr("127.0.0.1", 0, &addr) < 0 ||
	    uv_tcp_bind(&listener, (struct sockaddr *)&addr, 0) < 0 ||
	    uv_listen((uv_stream_t *)&listener, 128, on_connection) < 0 ||
	    uv_tcp_getsockname(&listener, (struct sockaddr *)&addr, &len) < 0)
		return 1;
	(void)printf("%u\n", ntohs(addr.sin_port));
	(void)fflush(stdout);
	return uv_run(loop, UV_RUN_DEFAULT);
}
