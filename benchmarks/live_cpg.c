/* The peer of benchmarks/live.py: one client of Corosync's closed process groups (CPG), agreed delivery.
 * live_cpg MEMBERS INDEX SIZE RATE WARM SECONDS WINDOW: prints READY when MEMBERS are in the group, reads the starting
 * time (CLOCK_MONOTONIC seconds), broadcasts (RATE 0: as fast as the group takes it, at most WINDOW own messages on their
 * way; WINDOW 0: no limit of its own), counts deliveries between WARM and WARM + SECONDS, prints one JSON line. */
#define _GNU_SOURCE
#include <corosync/cpg.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { LATENCIES_MAX = 4000000, DISPATCH_MAX = 64, SENDS_MAX = 32 };

struct head { uint32_t index, unused; uint64_t sent_at; };

static uint32_t own_index;
static size_t members, latencies;
static uint64_t window_begin = UINT64_MAX, window_end = UINT64_MAX, delivered, delivered_own;
static uint64_t *latency;

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double cpu(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void on_deliver(cpg_handle_t h, const struct cpg_name *g, uint32_t node, uint32_t pid, void *data, size_t size) {
    (void)h; (void)g; (void)node; (void)pid; (void)size;
    struct head head;
    memcpy(&head, data, sizeof head);
    uint64_t at = now();
    int inside = at >= window_begin && at < window_end;
    if (head.index == own_index) {
        delivered_own++;
        if (inside && latencies < LATENCIES_MAX) latency[latencies++] = at - head.sent_at;
    }
    delivered += inside;
}

static void on_change(cpg_handle_t h, const struct cpg_name *g, const struct cpg_address *list, size_t count,
                      const struct cpg_address *left, size_t lefts, const struct cpg_address *joined, size_t joins) {
    (void)h; (void)g; (void)list; (void)left; (void)lefts; (void)joined; (void)joins;
    members = count;
}

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void dispatch(cpg_handle_t handle) {
    for (int i = 0; i < DISPATCH_MAX && cpg_dispatch(handle, CS_DISPATCH_ONE_NONBLOCKING) == CS_OK; i++) {}
}

int main(int count, char **words) {
    if (count != 8) return 2;
    size_t wanted = strtoul(words[1], 0, 10), size = strtoul(words[3], 0, 10);
    own_index = (uint32_t)atoi(words[2]);
    double rate = atof(words[4]), warm = atof(words[5]), seconds = atof(words[6]);
    uint64_t limit = strtoul(words[7], 0, 10);
    if (size < sizeof(struct head)) size = sizeof(struct head);
    latency = malloc(LATENCIES_MAX * sizeof *latency);
    char *buffer = calloc(1, size);
    cpg_callbacks_t callbacks = {on_deliver, on_change};
    cpg_handle_t handle;
    struct cpg_name name = {.length = 5, .value = "bench"};
    cs_error_t error = CS_ERR_LIBRARY;
    for (int i = 0; i < 200 && (error = cpg_initialize(&handle, &callbacks)) != CS_OK; i++) usleep(50000);
    if (error != CS_OK) return 1;
    for (int i = 0; i < 200 && (error = cpg_join(handle, &name)) == CS_ERR_TRY_AGAIN; i++) usleep(50000);
    if (error != CS_OK) return 1;
    int descriptor;
    cpg_fd_get(handle, &descriptor);
    struct pollfd wait[2] = {{descriptor, POLLIN, 0}, {0, POLLIN, 0}};
    while (members < wanted) { poll(wait, 1, 100); dispatch(handle); }
    puts("READY");
    fflush(stdout);
    for (;;) {
        poll(wait, 2, 100);
        dispatch(handle);
        if (wait[1].revents) break;
    }
    double start;
    if (scanf("%lf", &start) != 1) return 1;
    uint64_t begin = (uint64_t)(start * 1e9), sent = 0;
    window_begin = begin + (uint64_t)(warm * 1e9);
    window_end = window_begin + (uint64_t)(seconds * 1e9);
    double cpu_begin = -1, cpu_end = -1;
    struct head *head = (struct head *)buffer;
    head->index = own_index;
    struct iovec vector = {buffer, size};
    for (uint64_t at = now(); at < window_end + 500000000u; at = now()) {
        if (cpu_begin < 0 && at >= window_begin) cpu_begin = cpu();
        if (cpu_end < 0 && at >= window_end) cpu_end = cpu();
        struct timespec pause = {0, 1000000};
        if (at >= begin && at < window_end) {
            int burst = 0;
            while (burst < SENDS_MAX) {
                if (rate > 0 && begin + (uint64_t)(sent * 1e9 / rate) > at) break;
                if (rate == 0 && limit && sent - delivered_own >= limit) break;
                head->sent_at = now();
                if (cpg_mcast_joined(handle, CPG_TYPE_AGREED, &vector, 1) != CS_OK) break;
                sent++;
                burst++;
            }
            if (burst == SENDS_MAX) pause.tv_nsec = 0;
            if (rate > 0) {
                uint64_t due = begin + (uint64_t)(sent * 1e9 / rate), t = now();
                pause.tv_nsec = due > t ? (long)(due - t < 50000000u ? due - t : 50000000u) : 0;
            }
        }
        wait[0].revents = 0;
        ppoll(wait, 1, &pause, 0);
        if (wait[0].revents) dispatch(handle);
    }
    qsort(latency, latencies, sizeof *latency, compare);
    printf("{\"messages_per_s\": %.1f, \"messages\": %lu, \"cpu_s\": %.4f, \"p50_ms\": %.4f, \"p99_ms\": %.4f}\n",
           delivered / seconds, delivered, cpu_end - cpu_begin, latencies ? latency[latencies / 2] / 1e6 : -1.0,
           latencies ? latency[latencies * 99 / 100] / 1e6 : -1.0);
    fflush(stdout);
    cpg_finalize(handle);
    return 0;
}
