/* Spellings of a key, and which known one a wrong one may have meant. */
#include "config/config_int.h"

#include <ctype.h>
#include <stdio.h>

enum { CANDIDATES_MAX = 2 * CONFIG_COUNT + 64 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Edit distance with swaps of neighbours ("optimal string alignment"); both words are cut to
 * CONFIG_NAME_MAX - 1 bytes, case is ignored. */
static unsigned distance(const char *a, const char *b)
{
    unsigned rows[3][CONFIG_NAME_MAX + 1] = {{0}};
    unsigned *before = rows[0];
    unsigned *last = rows[1];
    unsigned *now = rows[2];
    for (unsigned j = 0; j <= CONFIG_NAME_MAX; j++)
        last[j] = j;
    size_t width = strnlen(b, CONFIG_NAME_MAX - 1);
    size_t height = strnlen(a, CONFIG_NAME_MAX - 1);
    for (size_t i = 1; i <= height; i++) {
        int x = tolower((unsigned char)a[i - 1]);
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= width; j++) {
            int y = tolower((unsigned char)b[j - 1]);
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
        unsigned *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[width];
}

const char *config_nearest(const char *word, const char *const *names, size_t n)
{
    const char *best = NULL;
    unsigned best_distance = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned d = distance(word, names[i]);
        if (best == NULL || d < best_distance) {
            best = names[i];
            best_distance = d;
        }
    }
    return best;
}

static struct config_name spelled(const char *head, const char *key, const char *suffix, bool upper)
{
    struct config_name name;
    (void)snprintf(name.text, sizeof name.text, "%s%s%s", head, key, suffix);
    for (char *c = name.text; *c != '\0'; c++) {
        if (upper)
            *c = (char)toupper((unsigned char)*c);
        else if (*c == '_')
            *c = '-';
    }
    return name;
}

struct config_name config__flag_name(const char *key, const char *suffix)
{
    return spelled("--", key, suffix, false);
}

struct config_name config__env_name(const char *key, const char *suffix)
{
    return spelled("HYPERMEM_", key, suffix, true);
}

static struct config_name plain_name(const char *key, const char *suffix)
{
    struct config_name name;
    (void)snprintf(name.text, sizeof name.text, "%s%s", key, suffix);
    return name;
}

struct config_name config__nearest_key(const char *word, config_spell_fn *spell,
                                       const char *const *more)
{
    struct config_name names[CANDIDATES_MAX];
    const char *at[CANDIDATES_MAX];
    size_t n = 0;
    spell = spell != NULL ? spell : plain_name;
    for (unsigned i = 0; i < CONFIG_COUNT; i++) {
        names[n++] = spell(config__rows[i].key, "");
        if ((config__rows[i].flags & CONFIG_SECRET) != 0)
            names[n++] = spell(config__rows[i].key, "_file");
    }
    for (; more != NULL && *more != NULL && n < CANDIDATES_MAX; more++)
        names[n++] = plain_name(*more, "");
    for (size_t i = 0; i < n; i++)
        at[i] = names[i].text;
    return plain_name(config_nearest(word, at, n), "");
}

bool config__find(struct str key, enum config_id *id, bool *by_file)
{
    for (unsigned i = 0; i < CONFIG_COUNT; i++) {
        const struct config_row *row = &config__rows[i];
        struct str known = str_of(row->key);
        struct str rest = str_part(key, known.len, key.len);
        *by_file = (row->flags & CONFIG_SECRET) != 0 && str_eq(rest, STR("_file"));
        if (str_starts(key, known) && (rest.len == 0 || *by_file)) {
            *id = (enum config_id)i;
            return true;
        }
    }
    return false;
}
