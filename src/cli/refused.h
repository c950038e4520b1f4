/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * refused - the server's refusal of a sandbox, in the words of our options
 */

struct osb_error;
struct run_options;

/**
 * refused() - say why it wasn't created: one line that names the option, the
 * value as it was given and what is allowed, where the server told
 */
void refused(const struct run_options *options, const struct osb_error *err);
