/* Preloaded by tests: makes one system call or allocation of a program fail.
 *
 *   FAIL_CALL   which: open, stat, opendir, readdir, read, pread, write, pwrite, fsync, fallocate,
 *               ftruncate, rename, malloc, thread (each with its relatives: openat, calloc, ...)
 *   FAIL_NTH    the call that fails: 1, 2, ...
 *   FAIL_ERRNO  its errno; 0: kills the process just before the call instead
 *   FAIL_KEEP   set: all later calls fail too
 *   FAIL_FD     a descriptor that receives one byte when the call is reached
 *
 * Counting starts with main(): no program could handle failures in library initialization. A
 * program that is aware of this library can start over with never_comes_back().
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* old, size_t bytes);
extern void* __libc_memalign(size_t alignment, size_t bytes);

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static const char* wanted; /* unset: nothing fails */
static long nth, report = -1;
static int number, keep;
static atomic_long calls;
static int for_ever;
atomic_int stuck; /* threads whose call never returns */

static int (*real_main)(int, char**, char**);

static int counted_main(int argc, char** argv, char** environment) {
  const char* text;
  nth = (text = getenv("FAIL_NTH")) ? atol(text) : 0;
  number = (text = getenv("FAIL_ERRNO")) ? atoi(text) : EIO;
  keep = getenv("FAIL_KEEP") != NULL;
  report = (text = getenv("FAIL_FD")) ? atol(text) : -1;
  wanted = getenv("FAIL_CALL");
  return real_main(argc, argv, environment);
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(void),
                      void (*fini)(void), void (*end)(void), void* stack) {
  real_main = main;
  return REAL(__libc_start_main)(counted_main, argc, argv, init, fini, end, stack);
}

/* Starts over: blocks the nth such call of any thread. */
void never_comes_back(const char* call, long which) {
  for_ever = 1;
  nth = which;
  atomic_store(&calls, 0);
  wanted = strdup(call);
}

/* Whether this call is to fail; sets errno. */
static int fails(const char* call) {
  if (!wanted || strcmp(call, wanted) != 0) return 0;
  const long count = atomic_fetch_add(&calls, 1) + 1;
  if (count < nth || (count > nth && !keep)) return 0;
  if (report >= 0) syscall(SYS_write, report, "!", 1);
  if (for_ever) atomic_fetch_add(&stuck, 1);
  while (for_ever) pause();
  if (number == 0) syscall(SYS_kill, getpid(), SIGKILL);
  errno = number;
  return 1;
}

static int open_at(int folder, const char* path, int flags, va_list rest) {
  const int makes = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
  const mode_t mode = makes ? va_arg(rest, mode_t) : 0;
  if (fails("open")) return -1;
  return (int)syscall(SYS_openat, folder, path, flags, mode);
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int result = open_at(AT_FDCWD, path, flags, rest);
  va_end(rest);
  return result;
}

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int result = open_at(folder, path, flags, rest);
  va_end(rest);
  return result;
}

int open64(const char* path, int flags, ...) __attribute__((alias("open")));
int openat64(int folder, const char* path, int flags, ...) __attribute__((alias("openat")));

int stat(const char* path, struct stat* out) {
  return fails("stat") ? -1 : (int)syscall(SYS_stat, path, out);
}
int lstat(const char* path, struct stat* out) {
  return fails("stat") ? -1 : (int)syscall(SYS_lstat, path, out);
}
int fstat(int file, struct stat* out) {
  return fails("stat") ? -1 : (int)syscall(SYS_fstat, file, out);
}
int fstatat(int folder, const char* path, struct stat* out, int flags) {
  return fails("stat") ? -1 : (int)syscall(SYS_newfstatat, folder, path, out, flags);
}
int stat64(const char*, struct stat64*) __attribute__((alias("stat")));
int lstat64(const char*, struct stat64*) __attribute__((alias("lstat")));
int fstat64(int, struct stat64*) __attribute__((alias("fstat")));
int fstatat64(int, const char*, struct stat64*, int) __attribute__((alias("fstatat")));

DIR* opendir(const char* path) { return fails("opendir") ? NULL : REAL(opendir)(path); }
struct dirent* readdir(DIR* folder) { return fails("readdir") ? NULL : REAL(readdir)(folder); }
struct dirent64* readdir64(DIR* folder) {
  return fails("readdir") ? NULL : REAL(readdir64)(folder);
}

ssize_t read(int file, void* out, size_t bytes) {
  return fails("read") ? -1 : syscall(SYS_read, file, out, bytes);
}
ssize_t pread(int file, void* out, size_t bytes, off_t offset) {
  return fails("pread") ? -1 : syscall(SYS_pread64, file, out, bytes, offset);
}
ssize_t write(int file, const void* from, size_t bytes) {
  return fails("write") ? -1 : syscall(SYS_write, file, from, bytes);
}
ssize_t pwrite(int file, const void* from, size_t bytes, off_t offset) {
  return fails("pwrite") ? -1 : syscall(SYS_pwrite64, file, from, bytes, offset);
}
int fsync(int file) { return fails("fsync") ? -1 : (int)syscall(SYS_fsync, file); }
int fallocate(int file, int mode, off_t offset, off_t bytes) {
  return fails("fallocate") ? -1 : (int)syscall(SYS_fallocate, file, mode, offset, bytes);
}
int ftruncate(int file, off_t bytes) {
  return fails("ftruncate") ? -1 : (int)syscall(SYS_ftruncate, file, bytes);
}
ssize_t pread64(int, void*, size_t, off_t) __attribute__((alias("pread")));
ssize_t pwrite64(int, const void*, size_t, off_t) __attribute__((alias("pwrite")));
int fallocate64(int, int, off_t, off_t) __attribute__((alias("fallocate")));
int ftruncate64(int, off_t) __attribute__((alias("ftruncate")));

int rename(const char* from, const char* to) {
  return fails("rename") ? -1 : (int)syscall(SYS_rename, from, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  return fails("rename") ? -1
                         : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

int pthread_create(pthread_t* out, const pthread_attr_t* how, void* (*run)(void*), void* with) {
  if (fails("thread")) return EAGAIN;
  return REAL(pthread_create)(out, how, run, with);
}

void* malloc(size_t bytes) { return fails("malloc") ? NULL : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) {
  return fails("malloc") ? NULL : __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) {
  return fails("malloc") ? NULL : __libc_realloc(old, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  return fails("malloc") ? NULL : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  *out = memalign(alignment, bytes);
  return *out ? 0 : ENOMEM;
}
