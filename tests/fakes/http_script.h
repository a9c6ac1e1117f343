/* A scripted HTTP/1.1 server on a loopback port: what it answers, byte for byte and moment for
 * moment, is a table. For tests of clients; it checks nothing and promises nothing.
 *
 * A request's path (up to '?' and a '-', so that "/a-7" runs "/a") picks a script; its steps run
 * one after the other, then the connection waits for its next request. An unknown path gets 404.
 *
 * One thread, one poll(); the functions below may be called from any other. */
#ifndef HM_TESTS_FAKES_HTTP_SCRIPT_H
#define HM_TESTS_FAKES_HTTP_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

enum http_act {
    HTTP_END,   /* of the table of steps */
    HTTP_SEND,  /* bytes, `times` times (0: once) */
    HTTP_DRIP,  /* bytes one at a time, `ms` before each */
    HTTP_WAIT,  /* `ms` */
    HTTP_HOLD,  /* until http_script_release() */
    HTTP_CLOSE, /* end the connection in an orderly way */
    HTTP_RESET, /* break it off */
};

struct http_step {
    enum http_act act;
    const char *bytes;
    size_t n; /* 0: strlen(bytes) */
    int ms;
    unsigned times;
};

enum http_reading {
    HTTP_READS, /* the request's body before the first step */
    HTTP_SIPS,  /* the same, slowly: some 12 MB a second */
    HTTP_DEAF,  /* never reads it */
};

struct http_script {
    const char *path; /* NULL ends the table */
    const struct http_step *steps;
    enum http_reading reading;
};

struct http_server;

/* `scripts` is borrowed. NULL: no socket, no memory. */
struct http_server *http_script_start(const struct http_script *scripts);
void http_script_stop(struct http_server *server);

int http_script_port(const struct http_server *server);
/* "http://127.0.0.1:PORT" */
const char *http_script_url(const struct http_server *server);
unsigned http_script_connections(struct http_server *server); /* accepted so far */
unsigned http_script_requests(struct http_server *server);  /* begun so far: their heads are here */
unsigned http_script_held(struct http_server *server);      /* at HTTP_HOLD now */
unsigned http_script_most_open(struct http_server *server); /* requests in work at once, at most */
/* The i-th request's head, "" when there was none, and how long its body was so far; until the
 * server stops. */
const char *http_script_head(struct http_server *server, unsigned i);
size_t http_script_body_bytes(struct http_server *server, unsigned i);
/* Lets `n` that are at HTTP_HOLD go on, or come to it later, in the order of arrival there. */
void http_script_release(struct http_server *server, unsigned n);

#endif
