/* SPDX-License-Identifier: Apache-2.0 */

/*
 * message - a request to the broker from words, right or wrong in any field
 *
 *	create id=HEX v0.source=HEX memory=NUMBER len=+1 fds=40:fifo
 *
 * Text is in hex, so that it may hold any byte; it is written from the field's
 * start and may fill it to its end, without a NUL. What isn't named is as an
 * honest osbd would have it.
 */

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "build_id.h"
#include "hostile/hostile.h"

struct field {
	const char *name;
	size_t offset, size;
	bool is_text;
};

#define CREATE(name, member, is_text)                                        \
	{                                                                    \
		name, offsetof(struct broker_create, member),                \
			sizeof(((struct broker_create *)0)->member), is_text \
	}

static const struct field create_fields[] = {
	CREATE("op", op, false),
	CREATE("tag", tag, false),
	CREATE("id", id, true),
	CREATE("domain", domain, true),
	CREATE("image", image, true),
	CREATE("memory", limits.memory_bytes, false),
	CREATE("disk", limits.disk_bytes, false),
	CREATE("shm", limits.shm_bytes, false),
	CREATE("inodes", limits.inodes, false),
	CREATE("cpu", limits.cpu_milli, false),
	CREATE("pids", limits.pids, false),
	CREATE("nofile", limits.nofile, false),
	CREATE("flags", flags, false),
	CREATE("volumes", num_volumes, false),
};

static const struct field volume_fields[] = {
	{ "source", offsetof(struct broker_volume, source), VOLUME_PATH_MAX + 1,
	  true },
	{ "target", offsetof(struct broker_volume, target), VOLUME_PATH_MAX + 1,
	  true },
	{ "flags", offsetof(struct broker_volume, flags), 4, false },
	{ "reserved", offsetof(struct broker_volume, reserved), 4, false },
};

static const struct {
	const char *name;
	uint32_t op;
	size_t size;
} kinds[] = {
	{ "hello", BROKER_HELLO, sizeof(struct broker_hello) },
	{ "create", BROKER_CREATE, sizeof(struct broker_create) },
	{ "destroy", BROKER_DESTROY, sizeof(struct broker_destroy) },
	{ "leave", BROKER_LEAVE, sizeof(struct broker_hello) },
	{ "up", BROKER_GIVE_UP, sizeof(struct broker_give_up) },
};

/* destroy begins as create does, hello with a build id instead of an id. */
_Static_assert(offsetof(struct broker_destroy, id) ==
		       offsetof(struct broker_create, id),
	       "one table of fields serves both");

static int put_hex(uint8_t *to, size_t size, const char *hex)
{
	size_t len = strlen(hex) / 2;

	if (len > size)
		return -EINVAL;
	memset(to, 0, size);
	for (size_t i = 0; i < len; i++) {
		char digits[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

		to[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return 0;
}

static int put_field(uint8_t *base, const struct field *fields,
		     size_t num_fields, const char *name, const char *value)
{
	for (size_t i = 0; i < num_fields; i++) {
		const struct field *field = &fields[i];
		uint64_t number = strtoull(value, NULL, 0);

		if (strcmp(field->name, name) != 0)
			continue;
		if (field->is_text)
			return put_hex(base + field->offset, field->size,
				       value);
		memcpy(base + field->offset, &number, field->size);
		return 0;
	}
	return -EINVAL;
}

static int put_word(struct message *message, const char *name,
		    const char *value)
{
	struct broker_create *create = &message->create;

	if (strcmp(name, "len") == 0) {
		size_t number = (size_t)strtoll(value, NULL, 0);

		message->len = *value == '+' || *value == '-'
				       ? message->len + number
				       : number;
		return message->len <= sizeof(message->raw) ? 0 : -EINVAL;
	}
	if (strcmp(name, "fds") == 0) {
		message->num_fds = (unsigned int)strtoul(value, NULL, 10);
		(void)snprintf(message->fd_kind, sizeof(message->fd_kind), "%s",
			       strchr(value, ':') + 1);
		return 0;
	}
	if (name[0] == 'v' && name[1] >= '0' && name[1] < '0' + VOLUMES_MAX &&
	    name[2] == '.') {
		unsigned int i = (unsigned int)(name[1] - '0');

		if (create->num_volumes <= i)
			create->num_volumes = i + 1;
		return put_field((uint8_t *)&create->volumes[i], volume_fields,
				 ARRAY_SIZE(volume_fields), name + 3, value);
	}
	return put_field(message->raw, create_fields, ARRAY_SIZE(create_fields),
			 name, value);
}

static void fill_honestly(struct message *message, size_t size)
{
	struct broker_create *create = &message->create;

	if (size == sizeof(struct broker_hello)) {
		(void)snprintf(message->hello.build_id,
			       sizeof(message->hello.build_id), "%s",
			       OSB_BUILD_ID);
		return;
	}
	(void)snprintf(create->domain, sizeof(create->domain), "hostile");
	(void)snprintf(create->image, sizeof(create->image), "host");
	create->limits = (struct limits)LIMITS_DEFAULTS;
}

int message_parse(struct message *message, char *words)
{
	const char *kind = strsep(&words, " ");
	int r = -EINVAL;

	memset(message, 0, sizeof(*message));
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kind, kinds[i].name) != 0)
			continue;
		message->len = kinds[i].size;
		fill_honestly(message, kinds[i].size);
		message->hello.op = kinds[i].op;
		r = 0;
	}
	while (r == 0 && words) {
		char *name = strsep(&words, " ");
		char *value = strchr(name, '=');

		if (!value)
			return -EINVAL;
		*value = '\0';
		r = put_word(message, name, value + 1);
	}
	return r;
}
