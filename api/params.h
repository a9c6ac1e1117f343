/* Typed parameters, one row each: name, type, range, default, prose (STYLE 5, 15).
 *
 * A route hands its rows to params_parse() for the query string; the same rows read the members of
 * a JSON body (api/params_json.h), so GET and POST of a query cannot differ. A value is found under
 * the index of its row, which the noun names in an enum.
 *
 * Everything that is not in a row is refused and named: an unknown parameter, the same one twice, a
 * wrong type, a value out of range (400); what is documented but not built answers 501. */
#ifndef HM_API_PARAMS_H
#define HM_API_PARAMS_H

#include "core/base/str.h"

enum param_type {
    PARAM_UINT,   /* decimal digits; min, max, fallback */
    PARAM_FLAG,   /* true|false|1|0; fallback */
    PARAM_TEXT,   /* UTF-8 of at most `max` bytes */
    PARAM_TIME,   /* RFC 3339 */
    PARAM_CHOICE, /* one of `choices`: its index; fallback */
    PARAM_REAL,   /* a decimal number from min to max */
};

enum param_flag {
    PARAM_REQUIRED = 1,
    PARAM_NOT_BLANK = 2, /* TEXT: white space alone is refused */
    PARAM_UNBUILT = 4,   /* any value: 501; CHOICE: any value that is not among `choices` */
};

struct param_row {
    const char *name;
    enum param_type type;
    unsigned flags;
    uint64_t min, max, fallback;
    const char *const *choices; /* ends with NULL */
    const char *doc;
};

struct param {
    bool given;
    uint64_t number; /* UINT, FLAG (0 or 1), CHOICE; the fallback when not given */
    double real;     /* REAL; 0 when not given */
    struct str text; /* TEXT; .at NULL when not given */
    int64_t time_ms; /* TIME */
    int offset_min;
};

struct param_set {
    const struct param_row *rows;
    unsigned n;
    struct param *values; /* n of them */
};

/* Values at their defaults. ERR_EXHAUSTED when memory is short. */
enum err_code params_init(struct arena *arena, const struct param_row *rows, unsigned n,
                          struct param_set *set, struct err *err) MUST_USE;
/* Reads a query string ("a=1&b=2") into an initialised set. Does not ask for what is required:
 * a body may still bring it. */
enum err_code params_parse(struct arena *arena, struct str query, struct param_set *set,
                           struct err *err) MUST_USE;
/* What is required is there. */
enum err_code params_check(const struct param_set *set, struct err *err) MUST_USE;

/* The row's index; ERR_INVALID naming it when there is none, or when it was given before. */
enum err_code params_take(struct param_set *set, struct str name, unsigned *index,
                          struct err *err) MUST_USE;
/* One value from its text form, of any type. */
enum err_code params_set_text(struct param_set *set, unsigned index, struct str text,
                              struct err *err) MUST_USE;
/* One UINT value, checked against its range. */
enum err_code params_set_number(struct param_set *set, unsigned index, uint64_t number,
                                struct err *err) MUST_USE;

#endif
