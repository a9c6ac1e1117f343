/* Sockets and descriptors as the daemon wants them: the listening socket, the descriptor limit.
 *
 * Threads: any; nothing is kept. */
#ifndef HM_SERVER_NET_H
#define HM_SERVER_NET_H

#include "config/config.h"

enum { NET_URL_MAX = 80 };

/* A bound, listening, non-blocking socket; `url` becomes http://ADDRESS:PORT with the real port. */
enum err_code net_listen(const struct config_address *address, int *out, char url[NET_URL_MAX],
                         struct err *err) MUST_USE;
/* Where a client on this machine reaches that address: the loopback for 0.0.0.0 and [::]. */
void net_local_url(const struct config_address *address, char url[NET_URL_MAX]);

/* Raises the soft descriptor limit to at least `want` if the system lets it; returns the limit. */
uint64_t net_raise_descriptors(uint64_t want);

#endif
