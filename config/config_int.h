/* Shared by the files of config/, nobody else. */
#ifndef HM_CONFIG_CONFIG_INT_H
#define HM_CONFIG_CONFIG_INT_H

#include "config/config.h"

enum config_type {
    TYPE_TEXT,
    TYPE_PATH,
    TYPE_UINT,
    TYPE_BOOL,
    TYPE_ADDRESS,
    TYPE_NAMES,
    TYPE_LEVEL,
    TYPE_FORMAT,
    TYPE_COLOR,
    TYPE_REAL,
    TYPE_URL,
    TYPE_HEADERS,
    TYPE_RERANK,
    TYPE_COUNT
};

struct config_row {
    const char *key;
    enum config_type type;
    size_t offset; /* of the member in struct config */
    const char *fallback;
    uint64_t min, max;
    const char *unit, *group, *prose;
    unsigned flags;
};

enum {
    CONFIG_NAME_MAX = 64,    /* longest name of a flag, variable or key */
    CONFIG_LINE_MAX = 190,   /* libinih cuts longer lines (INI_MAX_LINE 200) */
    CONFIG_FILE_MAX = 65536, /* bytes of an ini file */
    CONFIG_SECRET_MAX = 4096 /* bytes of a secret's file */
};

extern const struct config_row config__rows[CONFIG_COUNT];

/* Parses `text` as the row's type into the row's member. The message ends with what was wanted. */
enum err_code config__parse(struct config *config, const struct config_row *row, struct str text,
                            struct err *err) MUST_USE;

/* One value from one source. `by_file`: a secret's KEY_file, `text` is a path. */
struct config_given {
    enum config_id id;
    bool by_file;
    enum config_source source;
    struct str name; /* the flag, the variable, or the ini file's path */
    struct str text;
};
enum err_code config__set(struct config *config, const struct config_given *given,
                          struct err *err) MUST_USE;
/* False: there is no such key. */
bool config__find(struct str key, enum config_id *id, bool *by_file);

enum err_code config__read_ini(struct config *config, struct str path, struct err *err) MUST_USE;
/* A whole file of at most `max` bytes into the arena. */
enum err_code config__read_file(struct arena *arena, struct str path, size_t max,
                                struct str *content, struct err *err) MUST_USE;

/* Spellings of a key: --data-dir, HYPERMEM_DATA_DIR; KEY_file with `suffix` "_file". */
struct config_name {
    char text[CONFIG_NAME_MAX];
};
struct config_name config__flag_name(const char *key, const char *suffix);
struct config_name config__env_name(const char *key, const char *suffix);

/* The known spelling nearest to an unknown word: keys as they are, or through `spell`. `more` are
 * further names, NULL at the end, or NULL. */
typedef struct config_name config_spell_fn(const char *key, const char *suffix);
struct config_name config__nearest_key(const char *word, config_spell_fn *spell,
                                       const char *const *more);

#endif
