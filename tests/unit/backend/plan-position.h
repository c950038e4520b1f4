/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "test.h"

#include "backend/plan.h"

/* Where the first op of a kind stands; fails when there is none. */
static inline unsigned int plan_position(const struct plan *plan,
					 enum plan_kind kind)
{
	for (unsigned int i = 0; i < plan->num; i++) {
		if (plan->ops[i].kind == kind)
			return i;
	}
	fail_msg("no op of kind %d", kind);
	return 0;
}
