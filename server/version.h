#ifndef HM_SERVER_VERSION_H
#define HM_SERVER_VERSION_H

/* Of the build, e.g. "v0.1.0-3-gabc1234"; a literal. */
const char *server_version(void);

#endif
