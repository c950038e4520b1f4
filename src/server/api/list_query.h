/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * list_query - which sandboxes a list is asked for
 */

#include <stdint.h>

#include "sandbox/strv.h"

#define LIST_PAGE_MAX 1000000
#define LIST_PAGE_SIZE_MAX 200
#define LIST_STATES_MAX 8

struct err;

struct list_query {
	unsigned int num_states; /* 0: any */
	char state[LIST_STATES_MAX][16];
	struct strv metadata; /* key, value, key, value ... */
	int64_t page, page_size;
};

/** list_query_init() - the first page of all */
void list_query_init(struct list_query *query);

void list_query_deinit(struct list_query *query);

/**
 * list_query_read() - from a request's raw query; unknown keys are ignored
 *
 * Return: 0, or -errno with @err and *ret_code.
 */
int list_query_read(struct list_query *query, const char *in_query,
		    const char **ret_code, struct err *err);
