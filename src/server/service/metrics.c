/* SPDX-License-Identifier: Apache-2.0 */

/*
 * #syscalls  getrusage
 */

#include "server/service/metrics.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <uv.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "build_id.h"
#include "http/head.h"
#include "http/write.h"
#include "sandbox/command.h"
#include "sandbox/sandbox.h"
#include "server/api/api.h"
#include "server/conn.h"
#include "server/reply.h"
#include "server/run.h"
#include "server/server.h"
#include "server/service/log.h"

#define TEXT_MAX (64u * 1024)
#define METRICS_DOMAIN "key:metrics"

static const char *const methods[] = {
	"GET", "POST", "PUT", "PATCH", "DELETE", "other",
};
_Static_assert(ARRAY_SIZE(methods) == METRICS_NUM_METHODS,
	       "every method has a name");

static const char *const classes[] = {
	"none", "1xx", "2xx", "3xx", "4xx", "5xx",
};
_Static_assert(ARRAY_SIZE(classes) == METRICS_CLASSES,
	       "every class has a name");

static const uint64_t bounds_us[METRICS_BUCKETS] = {
	1000, 5000, 25000, 100000, 1000000, 10000000,
};
static const char *const bounds[METRICS_BUCKETS] = {
	"0.001", "0.005", "0.025", "0.1", "1", "10",
};

void metrics_init(struct metrics *metrics)
{
	metrics->started_ns = uv_hrtime();
}

void metrics_begin(struct request *req)
{
	req->started_ns = uv_hrtime();
}

static enum metrics_method method_of(const struct request *req)
{
	enum metrics_method method = METRICS_GET;

	while (method < METRICS_OTHER &&
	       (!req->head || strcmp(methods[method], req->head->method) != 0))
		method++;
	return method;
}

void metrics_end(struct request *req)
{
	struct metrics *metrics = &req->server->metrics;
	uint64_t us = (uv_hrtime() - req->started_ns) / 1000;

	metrics->requests[method_of(req)]
			 [req->status / 100 % METRICS_CLASSES]++;
	/* A connection's life is no duration of a request. */
	if (req->status >= 200) {
		metrics->durations++;
		metrics->duration_us += us;
		for (size_t i = 0; i < ARRAY_SIZE(bounds_us); i++)
			metrics->bucket[i] += us <= bounds_us[i];
	}
	if (req->server->settings.access_log)
		log_access(req, us);
}

static void put_type(struct buf *out, const char *name, const char *type,
		     const char *help)
{
	buf_addf(out, "# HELP osbd_%s %s\n# TYPE osbd_%s %s\n", name, help,
		 name, type);
}

static void put_one(struct buf *out, const char *name, const char *type,
		    const char *help, uint64_t value)
{
	put_type(out, name, type, help);
	buf_addf(out, "osbd_%s %" PRIu64 "\n", name, value);
}

static void put_sandboxes(const struct server *server, struct buf *out)
{
	uint64_t num[SANDBOX_NUM_STATES] = { 0 };

	for (const struct sandbox *sandbox = server->sandboxes.newest; sandbox;
	     sandbox = sandbox->older)
		num[sandbox->state]++;
	put_type(out, "sandboxes", "gauge", "Sandboxes by state.");
	for (unsigned int i = 0; i < SANDBOX_NUM_STATES; i++)
		buf_addf(out, "osbd_sandboxes{state=\"%s\"} %" PRIu64 "\n",
			 sandbox_state_name((enum sandbox_state)i), num[i]);
}

static void put_requests(const struct metrics *metrics, struct buf *out)
{
	put_type(out, "requests_total", "counter",
		 "Requests that are over, by method and class of status.");
	for (unsigned int m = 0; m < METRICS_NUM_METHODS; m++) {
		for (unsigned int c = 0; c < METRICS_CLASSES; c++) {
			if (metrics->requests[m][c] == 0)
				continue;
			buf_addf(out,
				 "osbd_requests_total{method=\"%s\","
				 "status=\"%s\"} %" PRIu64 "\n",
				 methods[m], classes[c],
				 metrics->requests[m][c]);
		}
	}
}

static void put_seconds(struct buf *out, const char *name, uint64_t us)
{
	buf_addf(out, "osbd_%s %" PRIu64 ".%06" PRIu64 "\n", name, us / 1000000,
		 us % 1000000);
}

static void put_durations(const struct metrics *metrics, struct buf *out)
{
	put_type(out, "request_duration_seconds", "histogram",
		 "From the head of a request to the end of its answer.");
	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++)
		buf_addf(out,
			 "osbd_request_duration_seconds_bucket{le=\"%s\"} "
			 "%" PRIu64 "\n",
			 bounds[i], metrics->bucket[i]);
	buf_addf(out,
		 "osbd_request_duration_seconds_bucket{le=\"+Inf\"} "
		 "%" PRIu64 "\n",
		 metrics->durations);
	put_seconds(out, "request_duration_seconds_sum", metrics->duration_us);
	buf_addf(out, "osbd_request_duration_seconds_count %" PRIu64 "\n",
		 metrics->durations);
}

static void put_all(const struct server *server, struct buf *out)
{
	const struct metrics *metrics = &server->metrics;
	struct rusage usage = { .ru_maxrss = 0 };

	put_type(out, "build_info", "gauge", "1, with the version as labels.");
	buf_addf(out, "osbd_build_info{version=\"%s\",build=\"%s\"} 1\n",
		 OSB_VERSION, OSB_BUILD_ID);
	put_type(out, "uptime_seconds", "gauge", "Since osbd has started.");
	put_seconds(out, "uptime_seconds",
		    (uv_hrtime() - metrics->started_ns) / 1000);
	put_sandboxes(server, out);
	put_one(out, "connections", "gauge", "Connections that are open.",
		server->num_conns);
	put_one(out, "connections_total", "counter", "Connections accepted.",
		metrics->connections);
	put_requests(metrics, out);
	put_durations(metrics, out);
	put_one(out, "execs", "gauge", "Programs that run.",
		run_count(server) + commands_count(&server->sandboxes));
	put_one(out, "execs_total", "counter", "Programs started.",
		metrics->execs + server->sandboxes.commands_started);
	put_one(out, "output_bytes_total", "counter",
		"Bytes of output of programs that were read, or kept.",
		metrics->output_bytes + server->sandboxes.commands_output);
	(void)getrusage(RUSAGE_SELF, &usage); /* can't fail */
	put_one(out, "max_resident_bytes", "gauge",
		"The most memory that osbd has had.",
		(uint64_t)usage.ru_maxrss * 1024);
}

void api_metrics(struct request *req)
{
	struct buf body auto_clean(buf_deinit) = BUF_NULL;
	struct buf *out;

	/* The sums are about everybody, so no key of somebody's will do. */
	if (req->server->keys.num > 0 &&
	    strcmp(req->domain, METRICS_DOMAIN) != 0) {
		reply_error(req, 403, "AUTH::NOT_ALLOWED",
			    "only the key named 'metrics' may read these");
		return;
	}
	buf_init(&body, TEXT_MAX);
	put_all(req->server, &body);
	out = reply_head(req, 200);
	if (!out)
		return;
	http_put_field(out, "Content-Type", "text/plain; version=0.0.4");
	http_put_number(out, "Content-Length", buf_len(&body));
	reply_head_end(req, false);
	reply_piece(req, buf_data(&body), buf_len(&body));
	reply_end(req);
}
