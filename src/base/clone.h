/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * clone - clone3 for a child that shares our memory
 *
 * glibc has no such call, and a plain system call would let both return on
 * one stack. See clone(2).
 */

#include <linux/sched.h>

/**
 * clone_on_stack() - clone3; the child runs fn(arg) on args->stack
 * @fn: must not return; with CLONE_VM it must leave our state alone
 *
 * Return: the pid, or -errno.
 */
long clone_on_stack(struct clone_args *args, void (*fn)(void *), void *arg);
