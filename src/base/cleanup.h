/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * cleanup - scope-bound ownership, and its visible hand-over
 *
 *	char *path auto_free = NULL;
 *	int dir_fd auto_fd = -1;
 *	*ret_path = take_ptr(path);
 *	box->dir_fd = take_fd(&dir_fd);
 */

#include <stdlib.h>
#include <unistd.h>

#define auto_clean(fn) __attribute__((cleanup(fn)))
#define auto_free auto_clean(freep)
#define auto_fd auto_clean(closep)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/** freep() - free what a pointer points at; for auto_free */
static inline void freep(void *p)
{
	free(*(void **)p);
}

/** close_fd() - close if open, forget; keeps nothing and never fails */
static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd); /* nothing to flush on any fd of ours */
	*fd = -1;
}

/** closep() - for auto_fd */
static inline void closep(int *fd)
{
	close_fd(fd);
}

/** take_fd() - hand an fd over; the variable no longer owns it */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define take_ptr(p)                         \
	({                                  \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	})

/* Gives `type_freep`-style cleanups for types with a NULL-safe destructor. */
#define DEFINE_AUTO(type, fn)             \
	static inline void fn##p(type *p) \
	{                                 \
		fn(*p);                   \
	}                                 \
	struct auto_defined_for_##fn
