/* SPDX-License-Identifier: Apache-2.0 */

/*
 * #syscalls  clone3
 */

#include "base/clone.h"

#include <sys/syscall.h>

long clone_on_stack(struct clone_args *args, void (*fn)(void *), void *arg)
{
	long ret;

#if defined(__x86_64__)
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %[arg], %%rdi\n\t"
			 "call *%[fn]\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(ret)
			 : "0"(SYS_clone3), "D"(args),
			   "S"(sizeof(*args)), [fn] "r"(fn), [arg] "r"(arg)
			 : "rcx", "r11", "memory", "cc");
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = SYS_clone3;
	register long x0 __asm__("x0") = (long)args;
	register long x1 __asm__("x1") = sizeof(*args);

	__asm__ volatile("svc #0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, xzr\n\t"
			 "mov x0, %[arg]\n\t"
			 "blr %[fn]\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), [fn] "r"(fn), [arg] "r"(arg)
			 : "memory", "cc", "x30");
	ret = x0;
#else
#error "osb-init: this architecture has no clone3 stub yet"
#endif
	return ret;
}
