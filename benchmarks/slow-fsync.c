// A slower disk: when preloaded, it makes every fsync and fdatasync sleep before it does its work. See slow-disk.ts.

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void sleep_first(void) {
  const char *microseconds = getenv("SLOW_FSYNC_MICROSECONDS");
  long all = microseconds == NULL ? 0 : atol(microseconds);
  struct timespec left = {all / 1000000, all % 1000000 * 1000};
  while (nanosleep(&left, &left) != 0) {
  }
}

int fsync(int file) {
  sleep_first();
  return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
  sleep_first();
  return (int)syscall(SYS_fdatasync, file);
}
