/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sanitized - is this a build that looks at itself?
 *
 * A sanitizer makes system calls and opens files of its own, at any time: in
 * its builds the walls around daemons would only end it.
 */

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif
