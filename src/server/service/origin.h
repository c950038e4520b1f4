/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * origin - web pages, which must not use us unless whoever runs us says so
 *
 * A browser lets any page send requests to this machine, and a page may name
 * its own server as 127.0.0.1. It tells on itself by the fields Origin and
 * Host, which no page can change.
 */

struct buf;
struct request;

/**
 * origin_check() - may this request come from where it comes from?
 *
 * Before anything else is looked at. Return: 0; 1 after refusing, or after
 * answering a browser's question beforehand.
 */
int origin_check(struct request *req);

/** origin_put_fields() - what a browser wants to see in every answer */
void origin_put_fields(struct request *req, struct buf *out);
