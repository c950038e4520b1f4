/* SPDX-License-Identifier: Apache-2.0 */

#include "server/service/audit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "server/conn.h"
#include "server/route.h"
#include "server/server.h"
#include "server/service/log.h"
#include "store/store.h"

static void on_kept(void *ctx, int r)
{
	(void)ctx;
	if (r < 0)
		server_log("audit log: a record is lost: %s", strerror(-r));
}

void audit_answer(const struct request *req, unsigned int status)
{
	struct timespec now;
	struct err err = ERR_NULL;
	char outcome[16];
	struct store_audit record = {
		.domain = req->by_id ? "by-id" : req->domain,
		.request_id = req->id,
		.object = req->made_id[0] ? req->made_id : req->in_id,
		.outcome = outcome,
		.detail = req->in_exec,
	};

	if (!req->route || !req->route->audit || !req->server->store ||
	    (!req->by_id && !req->domain[0]))
		return;
	(void)clock_gettime(CLOCK_REALTIME, &now); /* can't fail */
	record.time_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
	record.action = req->route->audit;
	(void)snprintf(outcome, sizeof(outcome), "%u", status);
	if (status == 0)
		record.outcome = "gone";
	if (store_audit(req->server->store, &record, on_kept, NULL, &err) < 0)
		log_line(LOG_ERROR, req, "audit log: %s", err.msg);
}
