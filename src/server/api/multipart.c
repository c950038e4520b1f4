/* SPDX-License-Identifier: Apache-2.0 */

#include "server/api/multipart.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"

/*
 * A parameter of a header value, `; name=value` or `; name="value"`.
 * Return: its length in *ret_value, or -ENOENT; -EINVAL when over @size.
 */
static int get_param(const char *value, const char *name, char *ret_value,
		     size_t size)
{
	size_t name_len = strlen(name);
	const char *p = strchr(value, ';');

	while (p) {
		const char *start;
		size_t len;
		bool quoted, found;

		p += 1 + strspn(p + 1, " \t");
		found = strncasecmp(p, name, name_len) == 0 &&
			p[name_len] == '=';
		start = p + strcspn(p, "=;");
		if (*start != '=') {
			p = *start ? start : NULL;
			continue;
		}
		quoted = *++start == '"';
		if (quoted)
			start++;
		len = strcspn(start, quoted ? "\"" : "; \t");
		if (found) {
			if (len >= size || (quoted && start[len] != '"'))
				return -EINVAL;
			memcpy(ret_value, start, len);
			ret_value[len] = '\0';
			return 0;
		}
		p = strchr(start + len, ';');
	}
	return -ENOENT;
}

int multipart_init(struct multipart *mp, const char *in_content_type,
		   struct err *err)
{
	char boundary[MULTIPART_BOUNDARY_MAX + 1];

	memset(mp, 0, sizeof(*mp));
	buf_init(&mp->head, MULTIPART_HEAD_MAX);
	if (!in_content_type ||
	    strncasecmp(in_content_type, "multipart/form-data", 19) != 0)
		return err_set(err, ERR_INVALID, 0,
			       "the body must be multipart/form-data");
	if (get_param(in_content_type, "boundary", boundary, sizeof(boundary)) <
		    0 ||
	    boundary[0] == '\0')
		return err_set(err, ERR_INVALID, 0,
			       "multipart/form-data without a boundary");
	memcpy(mp->delimiter, "\r\n--", 4);
	memcpy(mp->delimiter + 4, boundary, strlen(boundary) + 1);
	mp->delimiter_len = 4 + strlen(boundary);
	mp->matched = 2; /* the first one needs no line end before it */
	return 0;
}

void multipart_deinit(struct multipart *mp)
{
	buf_deinit(&mp->head);
}

bool multipart_ended(const struct multipart *mp)
{
	return mp->state == MULTIPART_STATE_EPILOGUE;
}

/*
 * How many bytes at the front surely aren't part of a delimiter. It starts
 * with CR and holds no other, so a mismatch never hides a later match.
 */
static size_t plain_bytes(const struct multipart *mp, const uint8_t *data,
			  size_t len)
{
	const uint8_t *end = data + len;
	const uint8_t *p = data;

	while (p < end) {
		size_t n;

		p = memchr(p, '\r', (size_t)(end - p));
		if (!p)
			return len;
		n = (size_t)(end - p);
		if (n > mp->delimiter_len)
			n = mp->delimiter_len;
		if (memcmp(p, mp->delimiter, n) == 0)
			return (size_t)(p - data);
		p++;
	}
	return len;
}

/* Content, up to a delimiter. Used for the preamble as well. */
static void next_data(struct multipart *mp, const uint8_t *data, size_t len,
		      size_t *ret_used, struct multipart_event *ret_event)
{
	size_t i = 0;

	if (mp->matched == 0) {
		size_t plain = plain_bytes(mp, data, len);

		if (plain) {
			ret_event->type = MULTIPART_DATA;
			ret_event->data = data;
			ret_event->len = plain;
			*ret_used = plain;
			return;
		}
	}
	while (i < len && mp->matched < mp->delimiter_len &&
	       data[i] == (uint8_t)mp->delimiter[mp->matched]) {
		i++;
		mp->matched++;
	}
	*ret_used = i;
	if (mp->matched == mp->delimiter_len) {
		mp->matched = 0;
		mp->num_after = 0;
		mp->state = MULTIPART_STATE_BOUNDARY;
		if (mp->in_part)
			ret_event->type = MULTIPART_PART_END;
		mp->in_part = false;
		return;
	}
	if (i == len)
		return;
	/* It only looked like one: what matched was content. */
	ret_event->type = MULTIPART_DATA;
	ret_event->data = (const uint8_t *)mp->delimiter;
	ret_event->len = mp->matched;
	mp->matched = 0;
}

static int next_boundary(struct multipart *mp, const uint8_t *data, size_t len,
			 size_t *ret_used, struct multipart_event *ret_event,
			 struct err *err)
{
	size_t used = 0;

	while (used < len && mp->num_after < 2)
		mp->after[mp->num_after++] = (char)data[used++];
	*ret_used = used;
	if (mp->num_after < 2)
		return 0;
	if (memcmp(mp->after, "--", 2) == 0) {
		mp->state = MULTIPART_STATE_EPILOGUE;
		ret_event->type = MULTIPART_END;
		return 0;
	}
	if (memcmp(mp->after, "\r\n", 2) != 0)
		return err_set(err, ERR_INVALID, 0, "malformed boundary");
	buf_reset(&mp->head);
	mp->state = MULTIPART_STATE_HEAD;
	return 0;
}

/* The name out of `Content-Disposition: form-data; name="..."`. */
static int take_head(struct multipart *mp, char *head, struct err *err)
{
	static const char field[] = "content-disposition:";

	for (char *line = head; line && *line;) {
		char *end = strstr(line, "\r\n");

		if (end)
			*end = '\0';
		if (strncasecmp(line, field, sizeof(field) - 1) == 0 &&
		    get_param(line, "name", mp->name, sizeof(mp->name)) == 0)
			return 0;
		line = end ? end + 2 : NULL;
	}
	return err_set(err, ERR_INVALID, 0, "a part without a name");
}

static int next_head(struct multipart *mp, const uint8_t *data, size_t len,
		     size_t *ret_used, struct multipart_event *ret_event,
		     struct err *err)
{
	size_t used = 0;
	int r;

	while (used < len) {
		const char *bytes;
		size_t have;

		if (data[used] == '\0')
			return err_set(err, ERR_INVALID, 0,
				       "NUL in a part's head");
		buf_add(&mp->head, &data[used++], 1);
		if (mp->head.failed)
			return err_set(err, ERR_INVALID, 0,
				       "a part's head over %d bytes",
				       MULTIPART_HEAD_MAX);
		bytes = (const char *)buf_data(&mp->head);
		have = buf_len(&mp->head);
		if (have < 4 || memcmp(bytes + have - 4, "\r\n\r\n", 4) != 0)
			continue;
		buf_data(&mp->head)[have - 1] = '\0';
		r = take_head(mp, (char *)buf_data(&mp->head), err);
		if (r < 0)
			return r;
		mp->state = MULTIPART_STATE_DATA;
		mp->in_part = true;
		ret_event->type = MULTIPART_PART;
		break;
	}
	*ret_used = used;
	return 0;
}

int multipart_next(struct multipart *mp, const uint8_t *data, size_t len,
		   size_t *ret_used, struct multipart_event *ret_event,
		   struct err *err)
{
	size_t used = 0;
	int r = 0;

	*ret_event = (struct multipart_event){ .type = MULTIPART_MORE };
	while (used < len && r == 0 && ret_event->type == MULTIPART_MORE) {
		size_t n = 0;

		switch (mp->state) {
		case MULTIPART_STATE_PREAMBLE:
			next_data(mp, data + used, len - used, &n, ret_event);
			ret_event->type = MULTIPART_MORE; /* thrown away */
			break;
		case MULTIPART_STATE_BOUNDARY:
			r = next_boundary(mp, data + used, len - used, &n,
					  ret_event, err);
			break;
		case MULTIPART_STATE_HEAD:
			r = next_head(mp, data + used, len - used, &n,
				      ret_event, err);
			break;
		case MULTIPART_STATE_DATA:
			next_data(mp, data + used, len - used, &n, ret_event);
			break;
		case MULTIPART_STATE_EPILOGUE:
			n = len - used;
			break;
		}
		used += n;
	}
	*ret_used = used;
	return r;
}
