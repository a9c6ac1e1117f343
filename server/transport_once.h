/* A transport that does one exchange at a time: start() performs it and calls done() before it
 * returns. For commands that ask a model a few questions and have nothing else to do (doctor).
 *
 * libcurl's easy interface; connections are kept for the next exchange. What core/model/exchange.h
 * says of security holds: no proxy for loopback, no redirect, no cookie, certificates verified.
 * Threads: one. cancel() has nothing to cancel. */
#ifndef HM_SERVER_TRANSPORT_ONCE_H
#define HM_SERVER_TRANSPORT_ONCE_H

#include "core/model/exchange.h"

struct transport_once;

enum err_code transport_once_new(struct transport_once **out, struct err *err) MUST_USE;
void transport_once_free(struct transport_once *once); /* NULL is fine */
struct transport *transport_once_port(struct transport_once *once);

#endif
