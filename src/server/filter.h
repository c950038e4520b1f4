/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * filter - the few system calls that osbd still needs once it serves
 *
 * The list is osbd.syscalls. No process, no file and no socket but of the
 * unix family can be made after this, whatever a client has found.
 */

/** filter_load() - for good; 0 or -errno */
int filter_load(void);
