#include "core/text/rune.h"

#include <utf8proc.h>

struct rune rune__decode(struct str s, size_t at)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    struct rune none = {0, 0};
    if (at >= s.len)
        return none;
    const unsigned char *p = (const unsigned char *)s.at + at;
    if (p[0] < 0x80)
        return (struct rune){p[0], 1};
    unsigned len = p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if (len == 0 || len > s.len - at)
        return none;
    uint32_t cp = p[0] & (0x7fu >> len);
    for (unsigned i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return none;
        cp = cp << 6 | (p[i] & 0x3f);
    }
    if (cp < least[len] || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
        return none;
    return (struct rune){cp, len};
}

struct script_range {
    uint32_t from, to;
    enum rune_script script;
};

/* Ascending and disjoint; from the blocks of Unicode 15. */
static const struct script_range ranges[] = {
    {0x0041, 0x024f, SCRIPT_LATIN},    {0x0250, 0x02af, SCRIPT_LATIN},
    {0x0370, 0x03ff, SCRIPT_GREEK},    {0x0400, 0x052f, SCRIPT_CYRILLIC},
    {0x0530, 0x058f, SCRIPT_ARMENIAN}, {0x0590, 0x05ff, SCRIPT_HEBREW},
    {0x0600, 0x06ff, SCRIPT_ARABIC},   {0x0750, 0x077f, SCRIPT_ARABIC},
    {0x0870, 0x08ff, SCRIPT_ARABIC},   {0x0900, 0x097f, SCRIPT_DEVANAGARI},
    {0x0b80, 0x0bff, SCRIPT_TAMIL},    {0x0e00, 0x0e7f, SCRIPT_THAI},
    {0x0e80, 0x0eff, SCRIPT_LAO},      {0x1000, 0x109f, SCRIPT_MYANMAR},
    {0x1100, 0x11ff, SCRIPT_HANGUL},   {0x1780, 0x17ff, SCRIPT_KHMER},
    {0x1c80, 0x1c8f, SCRIPT_CYRILLIC}, {0x1d00, 0x1dbf, SCRIPT_LATIN},
    {0x1e00, 0x1eff, SCRIPT_LATIN},    {0x1f00, 0x1fff, SCRIPT_GREEK},
    {0x2070, 0x209f, SCRIPT_LATIN},    {0x2100, 0x218f, SCRIPT_LATIN},
    {0x2c60, 0x2c7f, SCRIPT_LATIN},    {0x2de0, 0x2dff, SCRIPT_CYRILLIC},
    {0x2e80, 0x2fdf, SCRIPT_HAN},      {0x3005, 0x3007, SCRIPT_HAN},
    {0x3021, 0x312f, SCRIPT_HAN},      {0x3130, 0x318f, SCRIPT_HANGUL},
    {0x31a0, 0x31ff, SCRIPT_HAN},      {0x3400, 0x4dbf, SCRIPT_HAN},
    {0x4e00, 0x9fff, SCRIPT_HAN},      {0xa640, 0xa69f, SCRIPT_CYRILLIC},
    {0xa720, 0xa7ff, SCRIPT_LATIN},    {0xa8e0, 0xa8ff, SCRIPT_DEVANAGARI},
    {0xa960, 0xa97f, SCRIPT_HANGUL},   {0xa9e0, 0xa9ff, SCRIPT_MYANMAR},
    {0xaa60, 0xaa7f, SCRIPT_MYANMAR},  {0xab30, 0xab6f, SCRIPT_LATIN},
    {0xac00, 0xd7ff, SCRIPT_HANGUL},   {0xf900, 0xfaff, SCRIPT_HAN},
    {0xfb00, 0xfb06, SCRIPT_LATIN},    {0xfb13, 0xfb17, SCRIPT_ARMENIAN},
    {0xfb1d, 0xfb4f, SCRIPT_HEBREW},   {0xfb50, 0xfdff, SCRIPT_ARABIC},
    {0xfe70, 0xfefe, SCRIPT_ARABIC},   {0xff21, 0xff5a, SCRIPT_LATIN},
    {0xff66, 0xff9f, SCRIPT_HAN},      {0xffa0, 0xffdc, SCRIPT_HANGUL},
    {0x1b000, 0x1b16f, SCRIPT_HAN},    {0x1d400, 0x1d6a5, SCRIPT_LATIN},
    {0x1d6a8, 0x1d7cb, SCRIPT_GREEK},  {0x20000, 0x3ffff, SCRIPT_HAN},
};

enum rune_script rune_script(uint32_t cp)
{
    size_t low = 0, high = sizeof ranges / sizeof ranges[0];
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (cp > ranges[mid].to)
            low = mid + 1;
        else
            high = mid;
    }
    bool found = low < sizeof ranges / sizeof ranges[0] && cp >= ranges[low].from;
    return found ? ranges[low].script : SCRIPT_OTHER;
}

#define O RUNE_OTHER
#define S RUNE_SPACE
#define L RUNE_LETTER
#define D RUNE_DIGIT
#define C RUNE_CURRENCY
const uint8_t rune__ascii_class[128] = {
    S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, /* controls */
    S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, /* controls */
    S, O, O, O, C, O, O, O, O, O, O, O, O, O, O, O, /* from blank */
    D, D, D, D, D, D, D, D, D, D, O, O, O, O, O, O, /* from 0 */
    O, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, /* from @ */
    L, L, L, L, L, L, L, L, L, L, L, O, O, O, O, O, /* from P */
    O, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, /* from ` */
    L, L, L, L, L, L, L, L, L, L, L, O, O, O, O, S, /* from p */
};
#undef O
#undef S
#undef L
#undef D
#undef C

static enum rune_class letter_class(uint32_t cp)
{
    /* Conjoining vowels and finals, and the half-width voicing signs, never begin a unit. */
    if ((cp >= 0x1160 && cp <= 0x11ff) || (cp >= 0xd7b0 && cp <= 0xd7ff) || cp == 0xff9e ||
        cp == 0xff9f)
        return RUNE_MARK;
    return rune_script(cp) >= SCRIPT_HAN ? RUNE_BIGRAM : RUNE_LETTER;
}

static bool is_pictograph(const utf8proc_property_t *property, uint32_t cp)
{
    if (cp == 0xa9 || cp == 0xae || cp == 0x2122) /* © ® ™ */
        return false;
    return property->boundclass == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC ||
           property->boundclass == UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR;
}

enum rune_class rune__wide_class(uint32_t cp)
{
    if (rune_is_skin_tone(cp)) /* a symbol to Unicode, but it never stands alone */
        return RUNE_MARK;
    const utf8proc_property_t *property = utf8proc_get_property((utf8proc_int32_t)cp);
    switch ((utf8proc_category_t)property->category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL: return letter_class(cp);
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NO: return RUNE_DIGIT;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME: return RUNE_MARK;
    case UTF8PROC_CATEGORY_CF: return cp == 0x200b ? RUNE_SPACE : RUNE_IGNORED;
    case UTF8PROC_CATEGORY_SC: return RUNE_CURRENCY;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CC: return RUNE_SPACE;
    case UTF8PROC_CATEGORY_SO:
    case UTF8PROC_CATEGORY_CN: return is_pictograph(property, cp) ? RUNE_EMOJI : RUNE_OTHER;
    default: return RUNE_OTHER;
    }
}

bool rune_is_capital(uint32_t cp)
{
    if (cp < 0x80)
        return cp >= 'A' && cp <= 'Z';
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)cp);
    return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LT;
}

bool rune_is_apostrophe(uint32_t cp)
{
    return cp == '\'' || cp == 0x2019 || cp == 0x02bc || cp == 0x2018 || cp == 0xff07;
}

bool rune_joins(uint32_t previous, uint32_t cp, int32_t *state)
{
    return !utf8proc_grapheme_break_stateful((utf8proc_int32_t)previous, (utf8proc_int32_t)cp,
                                             state);
}

bool rune_is_skin_tone(uint32_t cp)
{
    return cp >= 0x1f3fb && cp <= 0x1f3ff;
}

/* The first of the ten digits of each script whose digits NFKC leaves alone. */
static const uint32_t digit_zeros[] = {0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6,
                                       0x0b66, 0x0be6, 0x0c66, 0x0ce6, 0x0d66, 0x0e50, 0x0ed0,
                                       0x0f20, 0x1040, 0x1090, 0x17e0, 0x1810};

static int32_t plain_character(int32_t cp)
{
    if (cp < 0x80)
        return cp;
    if (cp == 0x2019 || cp == 0x02bc || cp == 0x2018)
        return '\'';
    if (cp == 0x2010 || cp == 0x2011)
        return '-';
    if (cp == 0x2044) /* fraction slash: ½ is 1/2 */
        return '/';
    for (size_t i = 0; i < sizeof digit_zeros / sizeof digit_zeros[0]; i++) {
        int32_t value = cp - (int32_t)digit_zeros[i];
        if (value >= 0 && value <= 9)
            return '0' + value;
    }
    return cp;
}

static bool is_accent(int32_t base, int32_t mark)
{
    switch (rune_script((uint32_t)base)) {
    case SCRIPT_LATIN:
    case SCRIPT_GREEK:
    case SCRIPT_HEBREW:
    case SCRIPT_ARABIC:
    case SCRIPT_ARMENIAN: return true;
    case SCRIPT_CYRILLIC: return mark == 0x300 || mark == 0x301 || (mark == 0x308 && base == 0x435);
    case SCRIPT_DEVANAGARI: return mark == 0x93c;
    default: return base < 0x80;
    }
}

/* Latin letters without a decomposition, as one or two ASCII letters. */
static int32_t opened_letter(int32_t cp, int32_t *second)
{
    *second = 0;
    switch (cp) {
    case 0xf8: return 'o';                 /* ø */
    case 0x142: return 'l';                /* ł */
    case 0x111: return 'd';                /* đ */
    case 0x127: return 'h';                /* ħ */
    case 0x131: return 'i';                /* ı */
    case 0xe6: *second = 'e'; return 'a';  /* æ */
    case 0x153: *second = 'e'; return 'o'; /* œ */
    default: return cp;
    }
}

static bool is_umlaut(int32_t base, int32_t mark)
{
    return mark == 0x308 && (base == 'a' || base == 'o' || base == 'u');
}

enum { WIDE_MAX = RUNE_FOLD_MAX * 4 };

/* From decomposed to decomposed; the output never passes twice the input. */
static utf8proc_ssize_t refine(const int32_t *in, utf8proc_ssize_t n, enum rune_fold how,
                               int32_t *out)
{
    utf8proc_ssize_t len = 0;
    int32_t base = ' ';
    for (utf8proc_ssize_t i = 0; i < n; i++) {
        int32_t cp = plain_character(in[i]);
        bool mark = cp >= 0x300 && rune_class((uint32_t)cp) == RUNE_MARK;
        if (cp == 0x640) /* tatweel */
            continue;
        if (how == RUNE_UMLAUT && mark && is_umlaut(base, cp)) {
            out[len++] = 'e';
            continue;
        }
        if (how != RUNE_KEEP_MARKS && mark && is_accent(base, cp))
            continue;
        int32_t second = 0;
        if (how != RUNE_KEEP_MARKS)
            cp = opened_letter(cp, &second);
        out[len++] = cp;
        if (second != 0)
            out[len++] = second;
        if (!mark)
            base = cp;
    }
    return len;
}

static size_t encode(const int32_t *wide, utf8proc_ssize_t n, char *out, size_t cap)
{
    size_t len = 0;
    for (utf8proc_ssize_t i = 0; i < n; i++) {
        utf8proc_uint8_t bytes[4];
        size_t size = (size_t)utf8proc_encode_char(wide[i], bytes);
        if (size > cap - len)
            break;
        memcpy(out + len, bytes, size);
        len += size;
    }
    return len;
}

/* Without its last character. */
static struct str shortened(struct str s)
{
    size_t n = s.len - 1;
    while (n > 0 && ((unsigned char)s.at[n] & 0xc0) == 0x80)
        n--;
    return str_part(s, 0, n);
}

/* Of ASCII the fold is lower case: it has nothing to compose, and nothing invisible. False: there
 * is more than ASCII in it. */
static bool fold_ascii(struct str s, char *out, size_t cap, size_t *len)
{
    size_t n = s.len < RUNE_FOLD_MAX ? s.len : RUNE_FOLD_MAX;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s.at[i] >= 0x80)
            return false;
    *len = n < cap ? n : cap;
    for (size_t i = 0; i < *len; i++)
        out[i] = (char)(s.at[i] >= 'A' && s.at[i] <= 'Z' ? s.at[i] | 0x20 : s.at[i]);
    return true;
}

size_t rune_fold(struct str s, enum rune_fold how, char *out, size_t cap)
{
    size_t plain;
    if (fold_ascii(s, out, cap, &plain))
        return plain;
    const utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPAT | UTF8PROC_DECOMPOSE |
                                      UTF8PROC_CASEFOLD | UTF8PROC_IGNORE;
    int32_t raw[WIDE_MAX], wide[2 * WIDE_MAX];
    utf8proc_ssize_t n = 0;
    while (s.len > RUNE_FOLD_MAX)
        s = shortened(s);
    while (s.len > 0) {
        n = utf8proc_decompose((const utf8proc_uint8_t *)s.at, (utf8proc_ssize_t)s.len, raw,
                               WIDE_MAX, options);
        if (n >= 0 && n <= WIDE_MAX)
            break;
        s = shortened(s); /* a ligature that opens into eighteen letters, many times */
    }
    if (s.len == 0)
        return 0;
    n = refine(raw, n, how, wide);
    n = utf8proc_normalize_utf32(wide, n, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    return n < 0 ? 0 : encode(wide, n, out, cap);
}
