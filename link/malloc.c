/* What the GNU C library's allocator is told: a process that runs for days is to give back what it frees.
 *
 * Left alone, it opens a heap for every thread that finds none free (up to eight a processor), and each keeps what one
 * burst of calls took. After one large answer it keeps up to twice that answer's size of whatever is freed later
 * (mallopt(3): M_MMAP_THRESHOLD is "dynamic"), and free pages between pieces in use it keeps for ever. Nearly all work
 * here is done on one thread (src/runtime.rs): one heap is enough.
 *
 * In C, for there is no safe way to say it in Rust. docs/performance.md, "Soak", has what it does. */
#include <features.h>

#ifdef __GLIBC__
#include <malloc.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <time.h>

/* Seconds. */
enum { BETWEEN = 10 };
static _Atomic time_t given_back;

static time_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return time.tv_sec;
}

__attribute__((constructor)) static void at_start(void) {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    mallopt(M_TRIM_THRESHOLD, 128 * 1024);
    given_back = now();
}

/* In the place of the C library's own, which tokio calls when it has nothing left to do: the time to give free pages
 * back. It takes half a millisecond of a heap of some megabytes, once in ten seconds with calls. */
int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout) {
    if (timeout != 0 && now() - given_back >= BETWEEN) {
        given_back = now();
        malloc_trim(0);
    }
    return epoll_pwait(epoll, events, most, timeout, NULL);
}
#endif
