/* A transport on a loop of its own, and a scripted server for it to talk to. The test's own thread
 * plays the loop. Each test runs in a process of its own, so one rig is enough. */
#ifndef HM_TESTS_UNIT_SERVER_TRANSPORT_KIT_H
#define HM_TESTS_UNIT_SERVER_TRANSPORT_KIT_H

#include <check.h>
#include <stdatomic.h>

#include "server/transport_int.h"
#include "tests/fakes/http_script.h"

enum { RIG_NARROW, RIG_OTHER, RIG_WIDE, RIG_ENDPOINTS, RIG_NARROW_SLOTS = 2, RIG_WIDE_SLOTS = 256 };

/* "HTTP/1.1 200 OK" with the body's length. */
#define RIG_REPLY(length, body)                                                                    \
    {                                                                                              \
        HTTP_SEND, "HTTP/1.1 200 OK\r\nContent-Length: " length "\r\n\r\n" body, 0, 0, 0           \
    }
#define RIG_HELLO RIG_REPLY("5", "hello")
#define RIG_HOLD                                                                                   \
    {                                                                                              \
        HTTP_HOLD, NULL, 0, 0, 0                                                                   \
    }
#define RIG_END                                                                                    \
    {                                                                                              \
        HTTP_END, NULL, 0, 0, 0                                                                    \
    }

struct rig {
    uv_loop_t loop;
    uv_timer_t tick;
    struct clock clock;
    struct carrier *carrier;
    struct transport *port;
    struct http_server *server;
    unsigned ended;
    int64_t patience_ms;
};
extern struct rig rig;

struct ask {
    struct exchange x;
    char url[256];
    unsigned done;  /* how often */
    unsigned order; /* among all that ended, from 1 */
};

void rig_open(const struct http_script *scripts);
void rig_close(void);

/* A POST of {} to a path of the server; what is asked may be changed before ask_start(). */
void ask_init(struct ask *ask, uint32_t endpoint, const char *path);
void ask_fini(struct ask *ask);
void ask_start(struct ask *ask);
void ask_cancel(struct ask *ask);
/* Starts it and runs the loop until it is done. */
void ask_run(struct ask *ask);
void ask_assert_ok(const struct ask *ask, const char *reply);
/* `part` is in the message, behind the server's name. */
void ask_assert_failed(const struct ask *ask, enum err_code code, const char *part);

/* One round of the loop, at most a few milliseconds; fails the test when all takes too long. */
void rig_turn(void);
#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        while (!(condition))                                                                       \
            rig_turn();                                                                            \
    } while (0)

#endif
