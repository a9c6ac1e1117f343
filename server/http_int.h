/* Shared by the http_*.c files, nobody else. */
#ifndef HM_SERVER_HTTP_INT_H
#define HM_SERVER_HTTP_INT_H

#include <microhttpd.h>
#include <pthread.h>

#include "server/http.h"

enum {
    POOL_BYTES = 32 << 10, /* MHD's memory a connection; bounds the head of a request */
    LINGER_MS = 5000,
    LINGER_BYTES = 64 << 20, /* read away after an early reply, then cut */
    DISCARD_BYTES = 4 << 20, /* body of a refused request that is read for a clean reply */
    SURPLUS_MS = 5000,
    RECLAIM_MS = 1000, /* idle for so long: goes when others want in */
    LOOK_MS = 1000,    /* between two looks whether unfinished clients have left */
    ACCEPT_BATCH = 64,
    RESERVED_DESCRIPTORS = 64,
};

enum phase {
    PHASE_RECEIVE,
    PHASE_WORK,
    PHASE_STREAM,
    PHASE_SEND,
    PHASE_IDLE,
    PHASE_LINGER,
    PHASE_SURPLUS,
    PHASES
};

struct phase_list {
    struct http_conn *first, *last;
    int64_t limit_ms; /* INT64_MAX: none */
    unsigned n;
};

struct http_conn {
    int fd;
    enum phase phase;
    int64_t since_ms; /* of this phase, monotonic */
    struct http_conn *prev, *next;
    struct http_request *request; /* NULL between requests */
    bool surplus;
    bool left; /* the client ended its direction while a worker had the request */
    bool shut; /* we have shut the descriptor */
};

enum request_state {
    REQUEST_LINE,    /* the request line was read */
    REQUEST_BODY,    /* body is gathered */
    REQUEST_DISCARD, /* refused; the body is read away, then the reply goes out */
    REQUEST_LINGER,  /* answered already by http__say(); what comes is read away */
    REQUEST_WORK,    /* with the runner; suspended */
    REQUEST_READY,   /* the reply is complete */
    REQUEST_QUEUED,  /* MHD has the reply */
};

struct http_request {
    struct http *http;
    struct http_conn *conn;
    struct MHD_Connection *mhd;
    struct str target; /* as sent, up to a NUL; lies behind this struct, for MHD cuts its own */
    const char *target_end; /* where it ended in MHD's memory; only to compare */
    struct api_call *call;  /* from the first handler call on */
    struct buf body;        /* in the call's arena */
    size_t discarded;
    enum request_state state;
    bool close; /* after the reply */
    /* Of a streamed reply. */
    struct buf out; /* to be sent, from out_at on; heap */
    size_t out_at;
    bool working; /* a step has the call */
    bool paused;  /* suspended for want of something to send */
    bool gone;    /* the connection is no more; conn is NULL */
};

struct http {
    uv_loop_t *loop;
    struct http_options options;
    struct MHD_Daemon *daemon;
    char url[NET_URL_MAX];
    int listen_fd;
    bool accepting; /* the listening socket is polled */
    bool stopping;
    int64_t accept_again_ms; /* out of descriptors until then; 0: no */
    unsigned connections, surplus, surplus_max, suspended;
    unsigned orphans; /* requests whose connection went before their step was over */
    struct phase_list phase[PHASES];
    uv_poll_t listen_poll, mhd_poll;
    uv_timer_t turn_timer, sweep_timer;
    int64_t sweep_ms;  /* when sweep_timer rings; INT64_MAX: not armed */
    int64_t looked_ms; /* last look whether unfinished clients have left */
    uv_async_t mail;
    unsigned handles;          /* initialised, to be closed */
    pthread_mutex_t mail_lock; /* leaf; held for a few pointers */
    struct step *mail_first, *mail_last;
    struct step *start_first, *start_last; /* suspended, to be handed over when MHD returns */
};

int64_t http__now_ms(const struct http *http);

/* http.c: MHD gets to work once the loop's other callbacks have run. */
void http__turn_soon(struct http *http);
/* The call's reply is complete; MHD goes on with it in its next round. */
void http__resume(struct http *http, struct api_call *call);

/* http_conn.c */
void http__phase(struct http *http, struct http_conn *conn, enum phase phase);
void http__notify_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
                             enum MHD_ConnectionNotificationCode code);
void http__accept(struct http *http);
void http__accept_if_room(struct http *http);
void http__shut(struct http_conn *conn);
/* Shuts it if the client has ended its direction. libmicrohttpd misses that when it comes with
 * data: it takes a short read for "nothing more", and the edge does not come again. */
void http__shut_if_left(struct http_conn *conn);
/* Ends what is over its limit; returns the next moment to look again, INT64_MAX: none. */
int64_t http__sweep(struct http *http);

/* http_request.c */
/* Hands over what MHD's callbacks have started. True: some of it is answered already. */
bool http__submit(struct http *http);
/* MHD's callbacks. */
void *http__on_line(void *cls, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result http__on_request(void *cls, struct MHD_Connection *mhd, const char *url,
                                 const char *method, const char *version, const char *data,
                                 size_t *size, void **context);
void http__on_completed(void *cls, struct MHD_Connection *mhd, void **context,
                        enum MHD_RequestTerminationCode code);
/* Ends a request; its call is counted as sent or not. */
void http__free_request(struct http_request *r, bool sent);
/* What MHD never told the end of. */
void http__drop_request(struct http_conn *conn);

/* http_head.c: reads and checks the head. On refusal the call's reply is complete. */
struct http_head {
    uint64_t content_length;
    bool chunked;
    bool expects_continue;
};
bool http__read_head(struct http_request *r, const char *method, const char *version,
                     struct http_head *head);

/* http_stream.c */
bool http__stream(struct api_call *call, struct str bytes); /* call->stream */
struct MHD_Response *http__stream_response(struct http_request *r);
/* The step is over. */
void http__stream_finished(struct http_request *r);
/* The connection is over. True: the request lives on until its step is. */
bool http__stream_orphan(struct http_request *r);

/* http_reply.c */
/* Hands the call's complete reply to MHD. */
enum MHD_Result http__queue(struct http_request *r);
/* Writes the call's complete reply straight to the socket and ends our direction of it. */
void http__say(struct http_conn *conn, struct api_call *call);
/* The same with an error, whatever the connection is at; nothing may have been sent of a reply. */
void http__say_error(struct http *http, struct http_conn *conn, enum err_code code,
                     const char *message);

#endif
