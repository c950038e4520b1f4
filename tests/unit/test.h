/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * test - cmocka with the headers it wants in front of it
 *
 * One static function per claim; its name is the claim.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
