/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pump - carry bytes and signals between our caller and a running exec
 */

#include <stdbool.h>

struct osb_error;
struct osb_exec;
struct output;

/* A signal ended the run without a verdict: exit with 128 + *ret_signal. */
#define PUMP_E_SIGNAL 1

/**
 * pump_run() - until the program has ended and its output is written
 * @output: the one given to the exec; look at output->failed afterwards
 * @has_stdin: ours is the program's
 * @ret_signal: filled in with PUMP_E_SIGNAL
 *
 * Return: 0, PUMP_E_SIGNAL, or -errno with @err.
 */
int pump_run(struct osb_exec *exec, struct output *output, bool has_stdin,
	     int *ret_signal, struct osb_error *err);
