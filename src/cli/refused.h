/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * refused - a refusal of the server, in the words of our options
 */

struct osb_error;
struct run_options;

/**
 * refused() - say why it failed: one line that names the option, the value as
 * it was given and what is allowed, where the server told
 * @doing: what failed, if that isn't the fault of one option
 */
void refused(const struct run_options *options, const struct osb_error *err,
	     const char *doing);
