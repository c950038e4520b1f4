/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * report - the object that `osb run --json` prints
 */

struct jsonout;
struct osb_verdict;
struct output;

/** report_print() - one line on stdout: 0, or -errno when it isn't taken */
int report_print(const struct osb_verdict *verdict,
		 const struct output *output);

/** report_put_ending() - the members that say how a program ended */
void report_put_ending(struct jsonout *out, const struct osb_verdict *verdict);
