/* A space's time zone: "UTC", a fixed offset "+05:30", or an IANA name ("Europe/Berlin") read from
 * the system's zoneinfo files (TZif, RFC 8536; both the transition table and the POSIX footer).
 * The name is checked against ../ and absolute paths. Nothing is cached here; no process-global
 * state (tzset is not used). */
#ifndef HM_CORE_BASE_TZ_H
#define HM_CORE_BASE_TZ_H

#include "core/base/str.h"

/* ERR_INVALID when the name is none of the three, ERR_NOT_FOUND when zoneinfo does not have it. */
enum err_code tz_check(struct str name, struct err *err) MUST_USE;
/* Minutes east of UTC at that moment; 0 for what tz_check refuses. */
int tz_offset_min(struct str name, int64_t utc_ms);

#endif
