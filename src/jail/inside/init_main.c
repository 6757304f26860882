/* Pid 1 of every jail: the smallest program that can hold a pid namespace open. It is a program of
 * its own, without libc, so that a jail contains not one byte of the warden's memory, and so that
 * the kernel counts its memory as the jail's (who may look into it is then decided by the jail's
 * user namespace: the warden may, the prisoners may not).
 *
 * The warden's child has built the jail, dropped everything and ignored SIGCHLD before it became
 * this: orphans are reaped by the kernel. */
#include <linux/prctl.h>
#include <sys/syscall.h>

static long call(long number, long a, long b)
{
    long result;
#if defined(__x86_64__)
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(0L)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = 0;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    result = x0;
#else
#error "cella knows no system calls of this architecture"
#endif
    return result;
}

_Noreturn void _start(void);

_Noreturn void _start(void)
{
    call(SYS_prctl, PR_SET_DUMPABLE, 0);
    call(SYS_prctl, PR_SET_NAME, (long)"cella-init");
    for (;;)
        call(SYS_ppoll, 0, 0); /* for ever; no signal of the jail's own processes reaches us */
}
