/* The one file that sees HYPERMEM_VERSION, so that a commit rebuilds only this. */
#include "server/version.h"

#ifndef HYPERMEM_VERSION
#define HYPERMEM_VERSION "unknown"
#endif

const char *server_version(void)
{
    return HYPERMEM_VERSION;
}
