#include "core/text/token.h"

#include <libstemmer.h>
#include <stdlib.h>

#include "core/text/token_int.h"

bool tokenizer_knows(struct str language)
{
    return str_eq(language, STR("none")) || str_eq(language, STR("auto")) ||
           language_find(language) != LANGUAGE_NONE;
}

void tokenizer_languages(char *out, size_t cap)
{
    const char *codes[LANGUAGE_MAX];
    size_t n = 0, len = 0;
    for (size_t l = 0; l < language_count(); l++) { /* by code */
        const char *code = language_at(l)->code;
        size_t k = n++;
        for (; k > 0 && strcmp(codes[k - 1], code) > 0; k--)
            codes[k] = codes[k - 1];
        codes[k] = code;
    }
    if (cap == 0)
        return;
    for (size_t i = 0; i < n + 2; i++) {
        struct str name = i == 0 ? STR("none") : i == 1 ? STR("auto") : str_of(codes[i - 2]);
        size_t comma = i == 0 ? 0 : 2;
        if (len + comma + name.len >= cap)
            break;
        memcpy(out + len, ", ", comma);
        memcpy(out + len + comma, name.at, name.len);
        len += comma + name.len;
    }
    out[len] = '\0';
}

enum err_code tokenizer_new(struct str language, struct tokenizer **out, struct err *err)
{
    *out = NULL;
    if (!tokenizer_knows(language))
        return err_set_param(err, ERR_INVALID, "language", "unknown language");
    struct tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    if (tokenizer == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for a tokenizer");
    tokenizer->automatic = str_eq(language, STR("auto"));
    tokenizer->language = language_find(tokenizer->automatic ? STR("en") : language);
    *out = tokenizer;
    return ERR_OK;
}

void tokenizer_free(struct tokenizer *tokenizer)
{
    if (tokenizer == NULL)
        return;
    for (size_t l = 0; l < LANGUAGE_MAX; l++)
        sb_stemmer_delete(tokenizer->stemmers[l]);
    free(tokenizer->stems);
    free(tokenizer);
}

static bool has_lower(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] >= 'a' && text.at[i] <= 'z')
            return true;
    return false;
}

int token__language(const struct token_run *run, enum rune_script script)
{
    if (run->language == LANGUAGE_NONE || language_writes(run->language, script))
        return run->language;
    return language_of_script(script);
}

static void choose_language(struct token_run *run)
{
    const struct tokenizer *tokenizer = run->tokenizer;
    uint32_t also = 0;
    run->language = tokenizer->automatic ? token__guess(run->text, &also) : tokenizer->language;
    run->also = run->use == TOKEN_QUERY ? also : 0;
}

enum err_code tokenizer_run(struct tokenizer *tokenizer, struct arena *arena, struct str text,
                            enum token_use use, struct token_list *out, struct err *err)
{
    *out = (struct token_list){NULL, 0};
    if (text.len > UINT32_MAX / 2)
        return err_set(err, ERR_TOO_LARGE, "text of %zu bytes", text.len);
    struct token_run run = {.tokenizer = tokenizer,
                            .arena = arena,
                            .text = text,
                            .use = use,
                            .has_lower = has_lower(text),
                            .sentence_start = true};
    choose_language(&run);
    token__scan(&run);
    if (run.failed)
        return err_set(err, ERR_EXHAUSTED, "the memory for one text's terms is used up");
    *out = (struct token_list){run.at, run.n};
    return ERR_OK;
}
