/* SPDX-License-Identifier: Apache-2.0 */

/*
 * profile - what a server has names for
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/fail.h"
#include "client/request.h"
#include "osb/osb.h"

#define PROFILES_MAX 1000

/* Return: 0, or -EMSGSIZE: a part of them would be a lie. */
static int read_values(const json_t *object, struct osb_profile_info *info)
{
	const json_t *value;
	const char *key;
	size_t len = 0;

	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		const char *text = json_string_value(value);
		int n;

		if (!text)
			continue;
		n = snprintf(info->values + len, sizeof(info->values) - len,
			     "%s = %s\n", key, text);
		if (n < 0 || (size_t)n >= sizeof(info->values) - len)
			return -EMSGSIZE;
		len += (size_t)n;
	}
	return 0;
}

static int read_profile(const json_t *item, struct osb_profile_info *info,
			struct osb_error *err)
{
	client_copy(info->name, sizeof(info->name),
		    client_json_str(item, "name"));
	client_copy(info->description, sizeof(info->description),
		    client_json_str(item, "description"));
	if (info->name[0] == '\0' ||
	    read_values(json_object_get(item, "values"), info) < 0)
		return client_fail_text(err, EBADMSG,
					"a profile in the answer of osbd "
					"makes no sense");
	return 0;
}

int osb_profile_list(struct osb_client *client,
		     struct osb_profile_info **ret_infos, size_t *ret_num,
		     struct osb_error *err)
{
	struct osb_profile_info *infos auto_free = NULL;
	json_t *answer auto_json = NULL;
	const json_t *items;
	size_t num;
	int r;

	r = request_json(client, "GET", "/v1/profiles", NULL, 200, &answer,
			 err);
	if (r < 0)
		return r;
	items = json_object_get(answer, "items");
	num = json_array_size(items);
	if (num > PROFILES_MAX)
		num = PROFILES_MAX;
	infos = num ? calloc(num, sizeof(*infos)) : NULL;
	if (num && !infos)
		return client_fail(err, ENOMEM, "list profiles");
	for (size_t i = 0; i < num; i++) {
		r = read_profile(json_array_get(items, i), &infos[i], err);
		if (r < 0)
			return r;
	}
	*ret_infos = take_ptr(infos);
	*ret_num = num;
	return 0;
}
