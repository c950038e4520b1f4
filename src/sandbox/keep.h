/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * keep - sandboxes to records of the store, and back
 */

struct err;
struct sandbox;
struct store_sandbox;

/** keep_record() - what to put into the store; points into @sandbox */
void keep_record(const struct sandbox *sandbox,
		 struct store_sandbox *ret_record);

/**
 * keep_restore() - fill a zeroed sandbox from its record
 *
 * Return: 0, or -errno with @err: a record that no honest osbd has written.
 */
int keep_restore(struct sandbox *sandbox, const struct store_sandbox *in_record,
		 struct err *err);
