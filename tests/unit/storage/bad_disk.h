/* A disk that fails on command: stands in for libc's pwrite, writev and fdatasync, which LMDB
 * calls, in this test program. Off, it passes everything on. */
#ifndef HM_TESTS_BAD_DISK_H
#define HM_TESTS_BAD_DISK_H

#include <stdbool.h>

enum bad_disk {
    DISK_GOOD,
    DISK_SYNC_EIO,  /* fdatasync fails */
    DISK_DATA_EIO,  /* writing data pages fails */
    DISK_DATA_FULL, /* writing data pages finds no space */
    DISK_META_EIO,  /* writing a meta page fails: LMDB panics */
};

void bad_disk_set(enum bad_disk mode);
/* The n-th call from now on, and only that one, fails with this errno. */
void bad_disk_fail_nth(long n, int error);
/* True when it has; switches it off. */
bool bad_disk_failed(void);

#endif
