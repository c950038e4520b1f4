/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drive - a stand-in for osbd: the broker's and init's channels, by hand
 *
 * A broker whose directory holds this program under the name `osbd` starts it
 * with the descriptors of enum osbd_fd. So what is below HTTP can be measured
 * and attacked without anything above it.
 */

#include <stddef.h>
#include <stdint.h>

#include "wire/broker_msg.h"
#include "wire/init_msg.h"

/** drive_hello() - first message; exits on failure */
void drive_hello(void);

/** drive_spec() - a spec with a fresh id and the default limits */
void drive_spec(struct broker_create *spec);

/** drive_call() - send a request, wait for its answer; 0 or its error kind */
uint32_t drive_call(const void *msg, size_t len, struct broker_answer *answer);

/** drive_create() - exits with the broker's message on failure */
void drive_create(const struct broker_create *spec);

/** drive_destroy() - returns when nothing is left */
void drive_destroy(const char *id);

/** drive_connect() - to a sandbox's init */
int drive_connect(const char *id);

/** drive_exec() - run a program to its end; its output is ours */
void drive_exec(int init_fd, uint32_t uid, const char *const *argv,
		struct init_exited *ret_exited);
