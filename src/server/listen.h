/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * listen - new connections
 */

struct server;

/** listen_start() - accept on server->listen_fd from now on */
int listen_start(struct server *server);

/** listen_stop() - leave new ones to whoever comes after us */
void listen_stop(struct server *server);
