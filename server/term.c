#include "server/term.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_DEFAULT = 80, WIDTH_LEAST = 40, WIDTH_MOST = 120, TENTHS = 10 };

struct term term_of(FILE *file, enum config_color color)
{
    struct winsize size = {0};
    int fd = fileno(file);
    bool is_tty = fd >= 0 && isatty(fd) == 1;
    unsigned width = WIDTH_DEFAULT;
    if (is_tty && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col != 0)
        width = size.ws_col;
    width = width < WIDTH_LEAST ? WIDTH_LEAST : width > WIDTH_MOST ? WIDTH_MOST : width;
    return (struct term){.file = file,
                         .width = width,
                         .is_tty = is_tty,
                         .color = color == COLOR_ALWAYS || (color == COLOR_AUTO && is_tty)};
}

static void set_style(const struct term *term, enum term_style style)
{
    static const char *const codes[TERM_STYLES] = {"\033[0m", "\033[1m", "\033[2m", "\033[1;36m"};
    if (term->color)
        (void)fputs(codes[style], term->file);
}

/* Columns of a word: characters, for want of a table of widths. */
static unsigned columns(struct str word)
{
    unsigned n = 0;
    for (size_t i = 0; i < word.len; i++)
        n += ((unsigned char)word.at[i] & 0xc0) != 0x80;
    return n;
}

/* C1 controls are U+0080 to U+009F: C2 80 to C2 9F. */
static void put_word(const struct term *term, struct str word)
{
    for (size_t i = 0; i < word.len; i++) {
        unsigned char c = (unsigned char)word.at[i];
        bool is_c1 =
            c == 0xc2 && i + 1 < word.len && ((unsigned char)word.at[i + 1] & 0xe0) == 0x80;
        if (c < 0x20 || c == 0x7f || is_c1)
            c = '?';
        (void)fputc(c, term->file);
        i += is_c1;
    }
}

static void put_blanks(const struct term *term, unsigned n)
{
    (void)fprintf(term->file, "%*s", (int)n, "");
}

/* One line of the text, wrapped; the cursor stands behind the lead. */
static void put_line(const struct term *term, unsigned indent, struct str line)
{
    unsigned column = indent;
    bool is_first = true;
    while (line.len != 0) {
        size_t end = str_index(line, ' ');
        struct str word = str_part(line, 0, end);
        line = str_part(line, end + 1, line.len);
        unsigned wide = columns(word);
        if (!is_first && column + 1 + wide > term->width) {
            (void)fputc('\n', term->file);
            put_blanks(term, indent);
            column = indent;
            is_first = true;
        }
        if (!is_first)
            (void)fputc(' ', term->file);
        put_word(term, word);
        column += wide + !is_first;
        is_first = false;
    }
    (void)fputc('\n', term->file);
}

void term_paragraph(const struct term *term, enum term_style style, const char *lead,
                    struct str text)
{
    unsigned indent = columns(str_of(lead));
    (void)fputs(lead, term->file);
    set_style(term, style);
    do {
        size_t end = str_index(text, '\n');
        put_line(term, indent, str_part(text, 0, end));
        text = str_part(text, end + 1, text.len);
        if (text.len != 0)
            put_blanks(term, indent);
    } while (text.len != 0);
    set_style(term, TERM_PLAIN);
}

void term_heading(const struct term *term, const char *text)
{
    (void)fputc('\n', term->file);
    term_paragraph(term, TERM_HEAD, "", str_of(text));
}

/* --- progress --- */

static void draw(const struct progress *p, size_t done)
{
    enum { BAR_MOST = 40, AROUND = 36 };
    unsigned room = p->term->width > AROUND + 10 ? p->term->width - AROUND : 10;
    unsigned wide = room < BAR_MOST ? room : BAR_MOST;
    unsigned filled = p->total != 0 ? (unsigned)(done * wide / p->total) : wide;
    char bar[BAR_MOST + 1];
    memset(bar, '.', wide);
    memset(bar, '#', filled < wide ? filled : wide);
    bar[wide] = '\0';
    (void)fprintf(p->term->file, "\r%s [%s] %zu/%zu", p->label, bar, done, p->total);
}

void progress_show(struct progress *p, size_t done)
{
    unsigned tenths = p->total != 0 ? (unsigned)(done * TENTHS / p->total) : TENTHS;
    if (p->term->is_tty) {
        draw(p, done);
    } else if (tenths > p->shown) {
        p->shown = tenths;
        (void)fprintf(p->term->file, "%s %zu/%zu\n", p->label, done, p->total);
    }
    (void)fflush(p->term->file);
}

void progress_end(struct progress *p)
{
    if (p->term->is_tty)
        (void)fputc('\n', p->term->file);
    (void)fflush(p->term->file);
}
