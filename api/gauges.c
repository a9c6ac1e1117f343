#include "api/gauges.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/graph/turn.h"
#include "core/ingest/job.h"
#include "core/ingest/lane.h"
#include "core/ingest/work.h"

/* --- due work --- */

static enum err_code first_waiting(struct store_txn *txn, uint64_t space, uint64_t looked,
                                   int64_t *received_ms, struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item = {STR_NONE, STR_NONE};
    struct turn turn;
    char key[4];
    be32_set(key, (uint32_t)looked + 1);
    enum err_code code = store_cursor_open(txn, space, KIND_TURN, &cursor, err);
    if (code == ERR_OK)
        code = store_cursor_seek(cursor, (struct str){key, sizeof key}, &item, err);
    if (code == ERR_OK && item.key.len == sizeof key) {
        code = turn_decode(item.value, be32_get(item.key.at), &turn, err);
        if (code == ERR_OK)
            *received_ms = turn.received_ms;
    }
    store_cursor_close(cursor);
    return code;
}

/* When the oldest job that waits for a model was made. */
static enum err_code first_job(struct store_txn *txn, uint64_t space, int64_t *created_ms,
                               struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item = {STR_NONE, STR_NONE};
    struct job job;
    enum err_code code = store_cursor_open(txn, space, KIND_WORK, &cursor, err);
    if (code == ERR_OK)
        code = store_cursor_seek(cursor, STR(""), &item, err);
    if (code == ERR_OK && item.key.len == 8)
        code = job_get(txn, space, be64_get(item.key.at), &job, err);
    if (code == ERR_OK && item.key.len == 8)
        *created_ms = job.created_ms;
    store_cursor_close(cursor);
    return code;
}

static enum err_code add_space(struct store_txn *txn, uint64_t space, int64_t now_ms,
                               struct gauges *gauges, struct err *err)
{
    struct space_stat stat;
    int64_t received_ms = now_ms, created_ms = now_ms;
    enum err_code code = store_stat(txn, space, &stat, err);
    if (code == ERR_OK && stat.v[STAT_WORK_DUE] != 0)
        code = first_job(txn, space, &created_ms, err);
    if (code == ERR_OK && now_ms - created_ms > gauges->oldest_ms)
        gauges->oldest_ms = now_ms - created_ms;
    if (code == ERR_OK && stat.v[STAT_PENDING] != 0)
        code = first_waiting(txn, space, stat.v[STAT_LOOKED], &received_ms, err);
    if (code == ERR_OK && now_ms - received_ms > gauges->oldest_ms)
        gauges->oldest_ms = now_ms - received_ms;
    return code;
}

static enum err_code walk_due(struct store_txn *txn, struct store_cursor *cursor, int64_t now_ms,
                              struct gauges *gauges, struct err *err)
{
    struct store_item item;
    enum err_code code = store_cursor_seek(cursor, STR(""), &item, err);
    for (unsigned n = 0; code == ERR_OK && item.key.at != NULL && n < GAUGES_SPACES; n++) {
        if (item.key.len != 16)
            return err_set(err, ERR_INTERNAL, "a damaged due row");
        uint64_t due_ms = be64_get(item.key.at);
        if (due_ms > (uint64_t)(now_ms + GAUGES_AHEAD_MS))
            return ERR_OK;
        gauges->due += due_ms <= (uint64_t)now_ms;
        code = add_space(txn, be64_get(item.key.at + 8), now_ms, gauges, err);
        if (code == ERR_OK)
            code = store_cursor_next(cursor, &item, err);
    }
    return code;
}

enum err_code gauges_read(const struct services *services, struct gauges *gauges, struct err *err)
{
    struct store_txn *txn = NULL;
    struct store_cursor *cursor = NULL;
    *gauges = (struct gauges){.running = lanes_busy(services->lanes) + works_busy(services->works)};
    enum err_code code = store_begin(services->store, &txn, err);
    if (code != ERR_OK)
        return code;
    code = store_cursor_open(txn, 0, KIND_DUE, &cursor, err);
    if (code == ERR_OK)
        code = walk_due(txn, cursor, clock_now_ms(services->clock), gauges, err);
    store_cursor_close(cursor);
    store_end(txn);
    return code;
}

/* --- the process --- */

/* A whole small file as a string; empty when it can't be read. */
static void read_file(const char *path, char *out, size_t cap)
{
    size_t n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    out[0] = '\0';
    if (fd < 0)
        return;
    for (;;) {
        ssize_t got = read(fd, out + n, cap - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    out[n] = '\0';
    (void)close(fd);
}

static uint64_t number_behind(const char *text, const char *label)
{
    const char *at = strstr(text, label);
    return at == NULL ? 0 : strtoull(at + strlen(label), NULL, 10);
}

/* Field `index` of /proc/self/stat, counted from 1; the second holds the name in brackets. */
static uint64_t stat_field(const char *text, unsigned index)
{
    const char *at = strrchr(text, ')');
    for (unsigned i = 2; at != NULL && i < index; i++)
        at = strchr(at + 1, ' ');
    return at == NULL ? 0 : strtoull(at + 1, NULL, 10);
}

static uint64_t count_fds(void)
{
    uint64_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return 0;
    /* cppcheck-suppress readdirCalled ; the stream is not shared between threads */
    while (readdir(dir) != NULL)
        n++;
    (void)closedir(dir);
    return n > 3 ? n - 3 : 0; /* ".", ".." and the directory itself */
}

void gauges_process(struct gauges_process *process)
{
    enum { STAT_BYTES = 64 << 10 };
    char stat[2048], status[8192];
    struct rlimit limit = {0, 0};
    double ticks = (double)sysconf(_SC_CLK_TCK);
    read_file("/proc/self/stat", stat, sizeof stat);
    read_file("/proc/self/status", status, sizeof status);
    char *boot = malloc(STAT_BYTES);
    if (boot != NULL)
        read_file("/proc/stat", boot, STAT_BYTES);
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    *process = (struct gauges_process){
        .cpu_s = (double)(stat_field(stat, 14) + stat_field(stat, 15)) / ticks,
        .start_s = (double)stat_field(stat, 22) / ticks +
                   (boot == NULL ? 0 : (double)number_behind(boot, "btime ")),
        .threads = stat_field(stat, 20),
        .virtual_bytes = stat_field(stat, 23),
        .resident_bytes = number_behind(status, "VmRSS:") * 1024,
        .private_bytes = number_behind(status, "RssAnon:") * 1024,
        .open_fds = count_fds(),
        .max_fds = limit.rlim_cur,
    };
    free(boot);
}
