/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * request - one request and its answer, on a client's connection
 */

#include <stdbool.h>
#include <stddef.h>

#include "client/json.h"
#include "osb/osb.h"

struct http_event;

/**
 * request_begin() - put a request's line and our standing fields into
 * client->out; the caller adds its own and ends the head
 * @target: percent-encoded, with the leading slash
 */
void request_begin(struct osb_client *client, const char *method,
		   const char *target);

/** request_next_event() - the next of what client->in[] holds; uses it up */
int request_next_event(struct osb_client *client, struct http_event *ret_event,
		       struct osb_error *err);

/** request_send() - send client->out, which is empty afterwards */
int request_send(struct osb_client *client, struct osb_error *err);

/**
 * request_answer() - read the answer to what was sent, into client->body
 *
 * Return: 0 with *ret_status; 1 when the connection was closed before the
 * first byte (the daemon was just leaving: try again); -errno with @err.
 */
int request_answer(struct osb_client *client, unsigned int *ret_status,
		   struct osb_error *err);

/**
 * request_exchange() - send a request and read its answer into client->body
 * @body: sent as JSON; NULL: none
 *
 * Return: as request_answer().
 */
int request_exchange(struct osb_client *client, const char *method,
		     const char *target, const char *body,
		     unsigned int *ret_status, struct osb_error *err);

/**
 * request_stream() - GET; repeated once if the daemon was leaving
 * @fn: gets the body of a 200, piece by piece; what it returns but 0 ends it
 *
 * Return: 0, or -errno with @err; then the next request connects anew.
 */
int request_stream(struct osb_client *client, const char *target,
		   osb_bytes_fn fn, void *ctx, struct osb_error *err);

/**
 * request_json() - a whole exchange; repeated once if the daemon was leaving
 * @in_body: sent as JSON; NULL: no body
 * @want:    the only status that is a success
 * @ret_body: the answer, to be given up with json_decref(); NULL: not wanted
 */
int request_json(struct osb_client *client, const char *method,
		 const char *target, const json_t *in_body, unsigned int want,
		 json_t **ret_body, struct osb_error *err);

/**
 * request_id_ok() - may this id stand in a target?
 *
 * Return: 0, or -EINVAL with @err.
 */
int request_id_ok(const char *id, struct osb_error *err);
