/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * audit - who changed what, for the audit log
 *
 * One record per request to a route that changes something or runs a program,
 * when its answer begins, refused ones included. Not those without a valid
 * key: nobody's name would be behind them, and anybody could fill the disk.
 */

struct request;

/** audit_answer() - @req is being answered; 0: nobody is there to hear it */
void audit_answer(const struct request *req, unsigned int status);
