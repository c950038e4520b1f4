/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * metrics - what osbd has done, as numbers that Prometheus reads
 *
 * Counters live in one struct and only grow; whoever does something counts it.
 * What can be counted when somebody asks (sandboxes, connections) isn't kept.
 */

#include <stdint.h>

struct request;

enum metrics_method {
	METRICS_GET,
	METRICS_POST,
	METRICS_PUT,
	METRICS_PATCH,
	METRICS_DELETE,
	METRICS_OTHER,
	METRICS_NUM_METHODS
};

#define METRICS_CLASSES 6 /* 0: no answer; then 1xx to 5xx */
#define METRICS_BUCKETS 6

struct metrics {
	uint64_t started_ns;
	uint64_t connections;
	uint64_t requests[METRICS_NUM_METHODS][METRICS_CLASSES];
	/* Of requests with an answer that isn't an upgrade. */
	uint64_t duration_us;
	uint64_t durations;
	uint64_t bucket[METRICS_BUCKETS]; /* not more than its bound */
	uint64_t execs;
	uint64_t output_bytes;
};

/** metrics_init() - the clock starts */
void metrics_init(struct metrics *metrics);

/** metrics_begin() - a request's head is complete */
void metrics_begin(struct request *req);

/** metrics_end() - a request is over, answered or not: count and log it */
void metrics_end(struct request *req);
