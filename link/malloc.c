/* Settings of the GNU C library's allocator, made before anything is allocated: a process that runs for days is to give
 * back what it frees.
 *
 * Left alone, it opens a heap for every thread that finds none free (up to eight a processor), and each keeps what one
 * burst of calls took. After one large answer it keeps up to twice that answer's size of whatever is freed later
 * (mallopt(3): M_MMAP_THRESHOLD is "dynamic"). Nearly all work here is done on one thread (src/runtime.rs): one heap is
 * enough. In C, for there is no safe way to say it in Rust. docs/performance.md, "Soak", has what it does. */
#include <malloc.h>

__attribute__((constructor)) static void give_back(void) {
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    mallopt(M_TRIM_THRESHOLD, 128 * 1024);
#endif
}
