/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * api - the handlers, one per route; each answers its request exactly once
 */

#include <stdint.h>

struct request;
struct server;

/* api_sandbox.c */
void api_health(struct request *req);
void api_sandbox_create(struct request *req);
void api_sandbox_list(struct request *req);
void api_sandbox_get(struct request *req);
void api_sandbox_delete(struct request *req);
void api_sandbox_endpoint(struct request *req);

/* api_exec.c */
void api_exec(struct request *req);

/* api_command.c */
void api_ping(struct request *req);
void api_command_run(struct request *req);
void api_command_interrupt(struct request *req);
/** api_command_tick() - kill what was asked to end and did not */
void api_command_tick(struct server *server, uint64_t now_ms);

/* api_file.c */
void api_file_upload(struct request *req);
void api_file_download(struct request *req);
