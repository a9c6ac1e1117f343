#include "config/config_int.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

const struct config_row config__rows[CONFIG_COUNT] = {
#define X(id, name, kind, member, text, low, high, units, section, bits, words)                    \
    [CONFIG_##id] = {.key = #name,                                                                 \
                     .type = TYPE_##kind,                                                          \
                     .offset = offsetof(struct config, member),                                    \
                     .fallback = text,                                                             \
                     .min = low,                                                                   \
                     .max = high,                                                                  \
                     .unit = units,                                                                \
                     .group = section,                                                             \
                     .prose = words,                                                               \
                     .flags = bits},
    CONFIG_TABLE(X)
#undef X
};

enum { ARENA_BYTES = 4 << 20 };

char **config_environment(void)
{
    return environ;
}

/* The content of a secret's file without the line end; its path is not secret. */
static enum err_code read_secret(struct config *config, const struct config_row *row,
                                 struct str path, struct str *value, struct err *err)
{
    struct str text = STR_NONE;
    enum err_code code = config__read_file(config->arena, path, CONFIG_SECRET_MAX, &text, err);
    if (code != ERR_OK)
        return code;
    *value = str_trim(text);
    if (value->len == 0)
        return err_set_param(err, ERR_INVALID, row->key, "%s_file: %.*s is empty", row->key,
                             STR_FMT(path));
    return ERR_OK;
}

enum err_code config__set(struct config *config, const struct config_given *given, struct err *err)
{
    const struct config_row *row = &config__rows[given->id];
    struct config_origin *origin = &config->origin[given->id];
    if (origin->source == given->source && origin->by_file != given->by_file)
        return err_set_param(err, ERR_INVALID, row->key, "both %s and %s_file are given", row->key,
                             row->key);
    struct str value = given->text;
    enum err_code code = ERR_OK;
    if (given->by_file)
        code = read_secret(config, row, str_copy(config->arena, given->text), &value, err);
    if (code == ERR_OK)
        code = config__parse(config, row, value, err);
    if (code != ERR_OK)
        return code;
    *origin = (struct config_origin){
        .source = given->source, .by_file = given->by_file, .name = given->name};
    if ((row->flags & CONFIG_SECRET) == 0)
        origin->text = str_copy(config->arena, given->text);
    return ERR_OK;
}

static enum err_code set_defaults(struct config *config, struct err *err)
{
    for (unsigned i = 0; i < CONFIG_COUNT; i++) {
        struct config_given given = {.id = (enum config_id)i,
                                     .source = SOURCE_DEFAULT,
                                     .name = STR("default"),
                                     .text = str_of(config__rows[i].fallback)};
        enum err_code code = config__set(config, &given, err);
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

/* --- the command line --- */

/* One flag as it stands: name without dashes, and the value if "=" gave one. */
struct flag {
    struct str name;
    struct str value;
};

static struct config_option *option_find(struct config_input *in, struct str name)
{
    for (unsigned i = 0; i < in->n_options; i++) {
        if (str_eq(name, str_of(in->options[i].name)))
            return &in->options[i];
    }
    return NULL;
}

static enum err_code unknown_flag(const struct config_input *in, struct str name, struct err *err)
{
    enum { MORE_MAX = 32 };
    struct config_name spelled[MORE_MAX];
    const char *more[MORE_MAX] = {"--config", "--help"};
    unsigned n = 2;
    for (unsigned i = 0; i < in->n_options && n < MORE_MAX - 1; i++, n++) {
        spelled[n] = config__flag_name(in->options[i].name, "");
        more[n] = spelled[n].text;
    }
    char word[CONFIG_NAME_MAX];
    size_t len = name.len < sizeof word - 3 ? name.len : sizeof word - 3;
    memcpy(word, "--", 2);
    memcpy(word + 2, name.at, len);
    word[2 + len] = '\0';
    struct config_name near = config__nearest_key(word, config__flag_name, more);
    return err_set_param(err, ERR_INVALID, word, "unknown option %s; did you mean %s?", word,
                         near.text);
}

/* Dashes to underscores; the empty string when it is no key's spelling. */
static struct str flag_key(struct config *config, struct str name)
{
    char *at = arena_alloc(config->arena, name.len);
    if (at == NULL)
        return STR("");
    for (size_t i = 0; i < name.len; i++) {
        if (name.at[i] == '_')
            return STR("");
        at[i] = '_';
        if (name.at[i] != '-')
            at[i] = name.at[i];
    }
    return (struct str){at, name.len};
}

static bool is_bool_word(const char *word)
{
    static const char *const known[] = {"true", "yes", "on", "1", "false", "no", "off", "0"};
    for (size_t i = 0; word != NULL && i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(word, known[i]) == 0)
            return true;
    }
    return false;
}

static enum err_code need_value(struct flag *flag, char ***next, struct err *err)
{
    if (flag->value.at != NULL)
        return ERR_OK;
    if (**next == NULL)
        return err_set(err, ERR_INVALID, "--%.*s wants a value", STR_FMT(flag->name));
    flag->value = str_of(*(*next)++);
    return ERR_OK;
}

static enum err_code take_option(struct config_option *option, const struct flag *flag,
                                 struct err *err)
{
    if (!option->has_value && flag->value.at != NULL)
        return err_set(err, ERR_INVALID, "--%s takes no value", option->name);
    option->value = option->has_value ? flag->value : STR("");
    return ERR_OK;
}

static enum err_code take_parameter(struct config *config, struct config_given given,
                                    const struct flag *flag, struct err *err)
{
    given.source = SOURCE_FLAG;
    given.name = str_printf(config->arena, "--%.*s", STR_FMT(flag->name));
    given.text = flag->value.at != NULL ? flag->value : STR("true");
    return config__set(config, &given, err);
}

/* The command line is walked twice: for --config, whose values flags outrank, and for all. */
enum pass { PASS_CONFIG, PASS_ALL };

/* A flag that is neither --help nor --config. In the first pass its value is only stepped over. */
static enum err_code take_other(struct config_input *in, struct config *config, enum pass pass,
                                struct flag *flag, char ***next, struct err *err)
{
    struct config_given given = {.id = CONFIG_COUNT};
    struct config_option *option = option_find(in, flag->name);
    enum err_code code = ERR_OK;
    bool is_known =
        option != NULL || config__find(flag_key(config, flag->name), &given.id, &given.by_file);
    if (!is_known)
        return pass == PASS_CONFIG ? ERR_OK : unknown_flag(in, flag->name, err);
    /* A bare switch means true, unless a truth value follows it. */
    bool is_bare = option != NULL ? !option->has_value
                                  : config__rows[given.id].type == TYPE_BOOL &&
                                        flag->value.at == NULL && !is_bool_word(**next);
    if (!is_bare)
        code = need_value(flag, next, err);
    if (code != ERR_OK || pass == PASS_CONFIG)
        return code;
    return option != NULL ? take_option(option, flag, err)
                          : take_parameter(config, given, flag, err);
}

static enum err_code take_flag(struct config_input *in, struct config *config, enum pass pass,
                               char ***next, struct str *ini, struct err *err)
{
    struct str word = str_of(*(*next)++);
    struct str body = str_part(word, 2, word.len);
    size_t equals = str_index(body, '=');
    struct flag flag = {.name = str_part(body, 0, equals)};
    if (equals < body.len)
        flag.value = str_part(body, equals + 1, body.len);
    if (str_eq(word, STR("-h")) || str_eq(word, STR("--help"))) {
        in->help = true;
        return ERR_OK;
    }
    if (!str_eq(flag.name, STR("config")))
        return take_other(in, config, pass, &flag, next, err);
    enum err_code code = need_value(&flag, next, err);
    *ini = flag.value;
    return code;
}

static enum err_code take_operand(struct config_input *in, char *word, struct err *err)
{
    if (in->n_operands >= in->max_operands || in->n_operands >= CONFIG_OPERANDS)
        return err_set(err, ERR_INVALID, "unexpected argument '%.64s'", word);
    in->operand[in->n_operands++] = word;
    return ERR_OK;
}

static enum err_code walk(struct config_input *in, struct config *config, enum pass pass,
                          struct str *ini, struct err *err)
{
    bool flags_end = false;
    char **next = in->words;
    enum err_code code = ERR_OK;
    in->n_operands = 0;
    while (code == ERR_OK && next != NULL && *next != NULL && !in->help) {
        bool is_flag = !flags_end && (strncmp(*next, "--", 2) == 0 || strcmp(*next, "-h") == 0);
        if (is_flag && strcmp(*next, "--") == 0) {
            flags_end = true;
            next++;
        } else if (is_flag) {
            code = take_flag(in, config, pass, &next, ini, err);
        } else if (pass == PASS_ALL) {
            code = take_operand(in, *next++, err);
        } else {
            next++;
        }
    }
    return code;
}

/* --- the environment --- */

static struct str env_find(char **env, const char *name)
{
    size_t len = strlen(name);
    for (; env != NULL && *env != NULL; env++) {
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=' && (*env)[len + 1] != '\0')
            return str_of(*env + len + 1);
    }
    return STR_NONE;
}

static enum err_code take_variable(struct config *config, struct str name, struct str value,
                                   struct err *err)
{
    struct str shown = str_copy(config->arena, name);
    if (shown.at == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    for (unsigned i = 0; i < CONFIG_COUNT; i++) {
        const struct config_row *row = &config__rows[i];
        bool is_plain = str_eq(name, str_of(config__env_name(row->key, "").text));
        bool by_file = (row->flags & CONFIG_SECRET) != 0 &&
                       str_eq(name, str_of(config__env_name(row->key, "_file").text));
        if ((is_plain || by_file) && value.len == 0)
            return ERR_OK;
        struct config_given given = {(enum config_id)i, by_file, SOURCE_ENV, shown, value};
        if (is_plain || by_file)
            return config__set(config, &given, err);
    }
    static const char *const more[] = {"HYPERMEM_CONFIG", NULL};
    struct config_name near = config__nearest_key(shown.at, config__env_name, more);
    return err_set_param(err, ERR_INVALID, shown.at,
                         "unknown environment variable %.64s; did you mean %s?", shown.at,
                         near.text);
}

static enum err_code read_environment(struct config *config, char **env, struct err *err)
{
    enum err_code code = ERR_OK;
    for (; env != NULL && *env != NULL && code == ERR_OK; env++) {
        struct str row = str_of(*env);
        struct str name = str_part(row, 0, str_index(row, '='));
        struct str value = str_part(row, name.len + 1, row.len);
        if (!str_starts(name, STR("HYPERMEM_")) || str_eq(name, STR("HYPERMEM_CONFIG")))
            continue;
        code = take_variable(config, name, value, err);
    }
    return code;
}

static enum err_code read_openai(struct config *config, char **env, struct err *err)
{
    struct str url = env_find(env, "OPENAI_BASE_URL");
    struct str key = env_find(env, "OPENAI_API_KEY");
    if (url.at == NULL)
        url = env_find(env, "OPENAI_API_BASE");
    config->openai.base_url = str_copy(config->arena, url.at != NULL ? url : STR(""));
    config->openai.api_key = str_copy(config->arena, key.at != NULL ? key : STR(""));
    if (config->openai.base_url.at == NULL || config->openai.api_key.at == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    return ERR_OK;
}

static enum err_code read_sources(struct config_input *in, struct config *config, struct err *err)
{
    static const struct config_given never = {
        CONFIG_COLOR, false, SOURCE_NO_COLOR, {"NO_COLOR", 8}, {"never", 5}};
    struct str ini = env_find(in->env, "HYPERMEM_CONFIG");
    enum err_code code = set_defaults(config, err);
    if (code == ERR_OK && env_find(in->env, "NO_COLOR").at != NULL)
        code = config__set(config, &never, err);
    if (code == ERR_OK)
        code = read_openai(config, in->env, err);
    if (code == ERR_OK)
        code = walk(in, config, PASS_CONFIG, &ini, err);
    if (code != ERR_OK || in->help)
        return code;
    if (ini.at != NULL)
        code = config__read_ini(config, str_copy(config->arena, ini), err);
    if (code == ERR_OK)
        code = read_environment(config, in->env, err);
    if (code == ERR_OK)
        code = walk(in, config, PASS_ALL, &ini, err);
    return code;
}

enum err_code config_load(struct config_input *input, struct config **config, struct err *err)
{
    *config = NULL;
    for (unsigned i = 0; i < input->n_options; i++)
        input->options[i].value = STR_NONE;
    input->help = false;
    struct arena *arena = arena_new(ARENA_BYTES);
    struct config *made = arena == NULL ? NULL : ARENA_NEW(arena, struct config);
    if (made == NULL) {
        arena_free(arena);
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    }
    made->arena = arena;
    enum err_code code = read_sources(input, made, err);
    if (code == ERR_OK)
        *config = made;
    else
        arena_free(arena);
    return code;
}

void config_free(struct config *config)
{
    if (config != NULL)
        arena_free(config->arena);
}

enum err_code config_check_serve(const struct config *config, struct err *err)
{
    if (config->server.listen.is_loopback || config->access.api_key.len != 0)
        return ERR_OK;
    return err_set_param(err, ERR_PRECONDITION, "api_key",
                         "listen %.*s can be reached by others: it wants an api_key "
                         "(HYPERMEM_API_KEY or HYPERMEM_API_KEY_FILE), or listen on 127.0.0.1",
                         STR_FMT(config->server.listen.text));
}
