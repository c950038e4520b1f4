/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * route - which function answers what
 *
 * The table in route.c is the whole attack surface of the HTTP side.
 */

struct request;

enum route_flag {
	ROUTE_OPEN = 1 << 0,   /* no key needed, no domain known */
	ROUTE_BY_ID = 1 << 1,  /* no key needed: the sandbox id is secret */
	ROUTE_STREAM = 1 << 2, /* called at the head; the body is streamed */
};

struct route {
	const char *method;
	const char *pattern; /* below / or /v1; {id} and {port} stand for one
				segment each */
	unsigned int flags;
	void (*handle)(struct request *req);
	const char *audit; /* what it is in the audit log; NULL: not there */
};

/**
 * route_find() - the route of a request's method and path
 *
 * Fills in_id and port of the request.
 * Return: 0 with req->route, or after replying 404 or 405: 1.
 */
int route_find(struct request *req);
