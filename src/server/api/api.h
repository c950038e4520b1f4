/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * api - the handlers, one per route; each answers its request exactly once
 */

struct request;
struct sandbox;

/* api_sandbox.c */
void api_health(struct request *req);
void api_profile_list(struct request *req);
void api_sandbox_list(struct request *req);
void api_sandbox_get(struct request *req);
void api_sandbox_delete(struct request *req);
void api_sandbox_patch(struct request *req);
void api_sandbox_renew(struct request *req);
void api_sandbox_endpoint(struct request *req);
/** api_sandbox_reply() - the answer with one; in full if @status is 200 */
void api_sandbox_reply(struct request *req, unsigned int status,
		       const struct sandbox *sandbox);

/* api_create.c */
void api_sandbox_create(struct request *req);

/* service/metrics.c */
void api_metrics(struct request *req);

/* api_exec.c */
void api_exec(struct request *req);

/* api_command.c */
void api_ping(struct request *req);
void api_command_run(struct request *req);
void api_command_list(struct request *req);
void api_command_interrupt(struct request *req);
void api_command_status(struct request *req);
void api_command_logs(struct request *req);
void api_command_events(struct request *req);
void api_command_delete(struct request *req);

/* api_file.c */
void api_file_upload(struct request *req);
void api_file_download(struct request *req);
