/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * start - a private broker, on demand
 */

struct lookup;
struct osb_error;

/**
 * start_broker() - make sure that a private broker serves @lookup, connect
 * @broker_path: the program
 *
 * Return: a connected socket, or -errno with @err.
 */
int start_broker(const struct lookup *lookup, const char *broker_path,
		 struct osb_error *err);
