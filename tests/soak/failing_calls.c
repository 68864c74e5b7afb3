// Calls of the operating system that fail on request: loaded before the C library, by environment variables.
//
// SHOAL_FAILS: the call (write, fsync, rename, mkdir, open, unlink, thread) that fails
// SHOAL_FAILS_AFTER: how many calls of this name succeed first; SHOAL_FAILS_FOR: how many fail then
// SHOAL_FAILS_WITH: errno
// SHOAL_CLOCK_JUMPS: maximum error of the clock of the day in seconds, forwards or backwards
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static atomic_long seen;

static long told(const char* name) {
  const char* text = getenv(name);
  return text ? atol(text) : 0;
}

static int fails(const char* call) {
  const char* chosen = getenv("SHOAL_FAILS");
  if (!chosen || strcmp(chosen, call) != 0) return 0;
  const long turn = atomic_fetch_add(&seen, 1) - told("SHOAL_FAILS_AFTER");
  if (turn < 0 || turn >= told("SHOAL_FAILS_FOR")) return 0;
  errno = (int)told("SHOAL_FAILS_WITH");
  return 1;
}

static int is_file(int descriptor) {
  struct stat found;
  return fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int descriptor, const void* data, size_t size) {
  return is_file(descriptor) && fails("write") ? -1 : REAL(write)(descriptor, data, size);
}
ssize_t writev(int descriptor, const struct iovec* parts, int count) {
  return is_file(descriptor) && fails("write") ? -1 : REAL(writev)(descriptor, parts, count);
}
ssize_t pwrite64(int descriptor, const void* data, size_t size, off64_t place) {
  return is_file(descriptor) && fails("write") ? -1 : REAL(pwrite64)(descriptor, data, size, place);
}
int fsync(int descriptor) {
  return fails("fsync") ? -1 : REAL(fsync)(descriptor);
}
int rename(const char* from, const char* to) {
  return fails("rename") ? -1 : REAL(rename)(from, to);
}
int renameat(int a, const char* from, int b, const char* to) {
  return fails("rename") ? -1 : REAL(renameat)(a, from, b, to);
}
int renameat2(int a, const char* from, int b, const char* to, unsigned flags) {
  return fails("rename") ? -1 : REAL(renameat2)(a, from, b, to, flags);
}
int mkdir(const char* path, mode_t mode) {
  return fails("mkdir") ? -1 : REAL(mkdir)(path, mode);
}
int unlink(const char* path) {
  return fails("unlink") ? -1 : REAL(unlink)(path);
}

#define OPENS(name)                                              \
  int name(const char* path, int flags, ...) {                   \
    va_list more;                                                \
    va_start(more, flags);                                       \
    const mode_t mode = va_arg(more, mode_t);                    \
    va_end(more);                                                \
    if (flags & (O_WRONLY | O_RDWR) && fails("open")) return -1; \
    return REAL(name)(path, flags, mode);                        \
  }
OPENS(open)
OPENS(open64)

int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*work)(void*), void* given) {
  return fails("thread") ? EAGAIN : REAL(pthread_create)(thread, how, work, given);
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const int result = REAL(clock_gettime)(clock, now);
  const long most = told("SHOAL_CLOCK_JUMPS");
  if (most && clock == CLOCK_REALTIME && result == 0) {
    static atomic_ulong state = 12345;
    const unsigned long drawn = atomic_fetch_add(&state, 0x9E3779B97F4A7C15UL);
    now->tv_sec += (long)((drawn >> 17) % (2UL * (unsigned long)most)) - most;
    if (now->tv_sec < 0) now->tv_sec = 0;
  }
  return result;
}
