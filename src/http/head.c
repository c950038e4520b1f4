/* SPDX-License-Identifier: Apache-2.0 */

#include "http/head.h"

#include <errno.h>
#include <http_parser.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"

/* Where the parser's callbacks put what they find. */
struct parse {
	struct http_head *head;
	char *url;
	size_t url_len;
	char *name[HTTP_HEADERS_MAX];
	size_t name_len[HTTP_HEADERS_MAX];
	char *value[HTTP_HEADERS_MAX];
	size_t value_len[HTTP_HEADERS_MAX];
	unsigned int num;
	bool too_many;
	bool complete;
};

/* The raw head is one writable block, so casting const away is honest. */
static int on_url(http_parser *parser, const char *at, size_t len)
{
	struct parse *parse = parser->data;

	parse->url = (char *)(uintptr_t)at;
	parse->url_len = len;
	return 0;
}

static int on_field(http_parser *parser, const char *at, size_t len)
{
	struct parse *parse = parser->data;

	if (parse->num == HTTP_HEADERS_MAX) {
		parse->too_many = true;
		return 1;
	}
	parse->name[parse->num] = (char *)(uintptr_t)at;
	parse->name_len[parse->num] = len;
	parse->value[parse->num] = NULL;
	parse->num++;
	return 0;
}

static int on_value(http_parser *parser, const char *at, size_t len)
{
	struct parse *parse = parser->data;

	if (parse->num == 0 || parse->value[parse->num - 1])
		return 1; /* a folded line: refused before, but be sure */
	parse->value[parse->num - 1] = (char *)(uintptr_t)at;
	parse->value_len[parse->num - 1] = len;
	return 0;
}

static int on_complete(http_parser *parser)
{
	struct parse *parse = parser->data;

	parse->complete = true;
	return 2; /* whatever follows is none of the parser's business */
}

/* Each byte that other readers might see differently is refused here. */
static int check_bytes(const char *raw, size_t len, struct err *err)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)raw[i];

		if (c == '\n') {
			if (i == 0 || raw[i - 1] != '\r')
				return err_set(err, ERR_INVALID, 0,
					       "bare line feed in the head");
			if (i + 1 < len &&
			    (raw[i + 1] == ' ' || raw[i + 1] == '\t'))
				return err_set(err, ERR_INVALID, 0,
					       "folded header field");
		} else if (c == '\r') {
			if (i + 1 == len || raw[i + 1] != '\n')
				return err_set(err, ERR_INVALID, 0,
					       "bare CR in the head");
		} else if ((c < 0x20 && c != '\t') || c == 0x7f) {
			return err_set(err, ERR_INVALID, 0,
				       "control byte in the head");
		}
	}
	return 0;
}

/* "GET /path HTTP/1.1": http-parser would skip surplus blanks. */
static int check_request_line(const char *raw, size_t len, struct err *err)
{
	unsigned int num_blanks = 0;

	for (size_t i = 0; i < len && raw[i] != '\r'; i++)
		if (raw[i] == ' ' || raw[i] == '\t')
			num_blanks++;
	if (num_blanks != 2)
		return err_set(err, ERR_INVALID, 0, "malformed request line");
	return 0;
}

/* RFC 9110 "token"; http-parser may be built to be laxer about names. */
static bool is_token(const char *text)
{
	if (*text == '\0')
		return false;
	for (; *text; text++) {
		char c = *text;

		if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		      (c >= '0' && c <= '9') || strchr("!#$%&'*+-.^_`|~", c)))
			return false;
	}
	return true;
}

/* Ends the fields' strings in place: behind each is ':', blank or CR. */
static int take_fields(struct parse *parse, struct err *err)
{
	struct http_head *head = parse->head;

	for (unsigned int i = 0; i < parse->num; i++) {
		char *value = parse->value[i];
		size_t len = value ? parse->value_len[i] : 0;

		while (len && (value[len - 1] == ' ' || value[len - 1] == '\t'))
			len--;
		parse->name[i][parse->name_len[i]] = '\0';
		if (!is_token(parse->name[i]))
			return err_set(err, ERR_INVALID, 0,
				       "malformed name of a header field");
		head->field[i].name = parse->name[i];
		head->field[i].value = "";
		if (len) {
			value[len] = '\0';
			head->field[i].value = value;
		}
	}
	head->num_fields = parse->num;
	return 0;
}

/* The request target: "/path?query", or the same behind "http://host". */
static int take_target(struct parse *parse, struct err *err)
{
	struct http_head *head = parse->head;
	char *url = parse->url;
	char *mark;

	url[parse->url_len] = '\0'; /* behind it is the blank */
	for (const char *p = url; *p; p++)
		if (*p == '#' || (unsigned char)*p >= 0x80)
			return err_set(err, ERR_INVALID, 0,
				       "character not allowed in the target");
	if (strncasecmp(url, "http://", 7) == 0) {
		mark = strpbrk(url + 7, "/?");
		if (!mark || *mark != '/')
			return err_set(err, ERR_INVALID, 0,
				       "request target has no path");
		url = mark;
	}
	if (*url != '/')
		return err_set(err, ERR_INVALID, 0,
			       "request target must be a path");
	head->path = url;
	head->query = "";
	mark = strchr(url, '?');
	if (mark) {
		*mark = '\0';
		head->query = mark + 1;
	}
	return 0;
}

static unsigned int count_fields(const struct http_head *head, const char *name)
{
	unsigned int num = 0;

	for (unsigned int i = 0; i < head->num_fields; i++)
		if (strcasecmp(head->field[i].name, name) == 0)
			num++;
	return num;
}

static int parse_length(const char *text, uint64_t *ret_len)
{
	uint64_t len = 0;

	if (*text == '\0')
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(len, 10, &len) ||
		    __builtin_add_overflow(len, (uint64_t)(*text - '0'), &len))
			return -EINVAL;
	}
	if (len > INT64_MAX)
		return -EINVAL;
	*ret_len = len;
	return 0;
}

/* How the body is delimited: where request smuggling happens. */
static int take_framing(struct http_head *head, struct err *err)
{
	unsigned int num_length = count_fields(head, "Content-Length");
	unsigned int num_te = count_fields(head, "Transfer-Encoding");

	if (num_length > 1 || num_te > 1)
		return err_set(err, ERR_INVALID, 0,
			       "the body's length is given more than once");
	if (num_length && num_te)
		return err_set(err, ERR_INVALID, 0,
			       "Content-Length beside Transfer-Encoding");
	if (num_te) {
		if (strcasecmp(http_head_get(head, "Transfer-Encoding"),
			       "chunked") != 0)
			return err_set(err, ERR_UNSUPPORTED, 0,
				       "only Transfer-Encoding: chunked");
		head->chunked = true;
	}
	if (num_length) {
		if (parse_length(http_head_get(head, "Content-Length"),
				 &head->content_length) < 0)
			return err_set(err, ERR_INVALID, 0,
				       "Content-Length isn't a number");
		head->has_length = true;
	}
	return 0;
}

/* What the fields mean, beyond their syntax. */
static int take_meaning(enum http_role role, const http_parser *parser,
			struct http_head *head, struct err *err)
{
	const char *expect;
	bool http11 = parser->http_major == 1 && parser->http_minor == 1;
	int r;

	if (parser->http_major != 1 || parser->http_minor > 1)
		return err_set(err, ERR_INVALID, 0,
			       "only HTTP/1.1 and HTTP/1.0 are spoken here");
	r = take_framing(head, err);
	if (r < 0)
		return r;
	if (!http11 && head->chunked)
		return err_set(err, ERR_INVALID, 0, "chunks in HTTP/1.0");
	if (role == HTTP_READ_REQUESTS) {
		unsigned int num_host = count_fields(head, "Host");

		if (num_host > 1 || (http11 && num_host == 0))
			return err_set(err, ERR_INVALID, 0,
				       "exactly one Host field is needed");
	}
	head->keep_alive =
		http11 ? !http_head_has_token(head, "Connection", "close")
		       : http_head_has_token(head, "Connection", "keep-alive");
	head->upgrade = http11 && http_head_get(head, "Upgrade") &&
			http_head_has_token(head, "Connection", "upgrade");
	expect = http_head_get(head, "Expect");
	if (expect && role == HTTP_READ_REQUESTS) {
		if (strcasecmp(expect, "100-continue") != 0)
			return err_set(err, ERR_INVALID, 0,
				       "unknown expectation");
		head->expect_continue = http11;
	}
	return 0;
}

int http_head_parse(enum http_role role, char *raw, size_t len,
		    struct http_head *ret_head, struct err *err)
{
	static const http_parser_settings settings = {
		.on_url = on_url,
		.on_header_field = on_field,
		.on_header_value = on_value,
		.on_headers_complete = on_complete,
	};
	struct http_head head = { .method = "", .path = "", .query = "" };
	struct parse parse = { .head = &head };
	http_parser parser;
	int r;

	r = check_bytes(raw, len, err);
	if (r == 0 && role == HTTP_READ_REQUESTS)
		r = check_request_line(raw, len, err);
	if (r < 0)
		return r;
	http_parser_init(&parser, role == HTTP_READ_REQUESTS ? HTTP_REQUEST
							     : HTTP_RESPONSE);
	parser.data = &parse;
	(void)http_parser_execute(&parser, &settings, raw, len);
	if (parse.too_many)
		return err_set(err, ERR_TOO_LARGE, 0,
			       "more than %d header fields", HTTP_HEADERS_MAX);
	if (!parse.complete)
		return err_set(err, ERR_INVALID, 0, "malformed HTTP head: %s",
			       http_errno_description(
				       HTTP_PARSER_ERRNO(&parser)));
	r = take_fields(&parse, err);
	if (r < 0)
		return r;
	if (role == HTTP_READ_REQUESTS) {
		if (!parse.url)
			return err_set(err, ERR_INVALID, 0, "no target");
		head.method = http_method_str((enum http_method)parser.method);
		r = take_target(&parse, err);
		if (r < 0)
			return r;
	} else {
		head.status = parser.status_code;
		if (head.status < 100)
			return err_set(err, ERR_INVALID, 0, "bad status");
	}
	r = take_meaning(role, &parser, &head, err);
	if (r < 0)
		return r;
	*ret_head = head;
	return 0;
}

const char *http_head_get(const struct http_head *head, const char *name)
{
	for (unsigned int i = 0; i < head->num_fields; i++)
		if (strcasecmp(head->field[i].name, name) == 0)
			return head->field[i].value;
	return NULL;
}

/* One field's value: a comma-separated list. */
static bool has_token(const char *list, const char *token)
{
	size_t token_len = strlen(token);

	while (*list) {
		size_t len;

		list += strspn(list, " \t,");
		len = strcspn(list, " \t,");
		if (len == token_len && strncasecmp(list, token, len) == 0)
			return true;
		list += len;
	}
	return false;
}

bool http_head_has_token(const struct http_head *head, const char *name,
			 const char *token)
{
	for (unsigned int i = 0; i < head->num_fields; i++)
		if (strcasecmp(head->field[i].name, name) == 0 &&
		    has_token(head->field[i].value, token))
			return true;
	return false;
}
