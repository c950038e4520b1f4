/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * log - lines to stderr, for people or for programs
 *
 * One event is one line in one write(2), whoever else writes there. As text:
 * "osbd: MESSAGE"; as JSON an object with time, level, msg and what is known
 * of the fields below. Control bytes never get through.
 */

#include <stdbool.h>
#include <stdint.h>

struct request;

enum log_level {
	LOG_INFO,
	LOG_WARN,
	LOG_ERROR,
	LOG_NUM_LEVELS
};

/** log_as_json() - from now on, or as text again */
void log_as_json(bool json);

/** log_line() - @req may be NULL: then it belongs to no request */
void log_line(enum log_level level, const struct request *req, const char *fmt,
	      ...) __attribute__((format(printf, 3, 4)));

/** log_access() - a request that is over; status 0: it got no answer */
void log_access(const struct request *req, uint64_t duration_us);

/** server_log() - log_line() of an error that belongs to no request */
void server_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
