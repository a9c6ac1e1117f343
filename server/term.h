/* Text for people on a terminal, or in a file that is not one: wrapping, colour, a progress bar.
 *
 * Width is the terminal's, 80 where there is none, within 40 and 120. Control characters of what is
 * printed are shown as "?", so that remembered text can't steer the terminal. */
#ifndef HM_SERVER_TERM_H
#define HM_SERVER_TERM_H

#include <stdio.h>

#include "config/config.h"

enum term_style { TERM_PLAIN, TERM_BOLD, TERM_DIM, TERM_HEAD, TERM_STYLES };

struct term {
    FILE *file;
    unsigned width;
    bool is_tty;
    bool color;
};

struct term term_of(FILE *file, enum config_color color);

/* One paragraph in a style: `lead` before its first line, the same width of blanks before the
 * others. Line feeds of the text are kept. */
void term_paragraph(const struct term *term, enum term_style style, const char *lead,
                    struct str text);
/* A heading with an empty line before it. */
void term_heading(const struct term *term, const char *text);

/* A bar on a terminal, drawn over and over; elsewhere a line now and then. */
struct progress {
    const struct term *term;
    const char *label;
    size_t total;
    unsigned shown; /* tenths told so far, where there is no terminal */
};
void progress_show(struct progress *progress, size_t done);
/* Ends the line of the bar. */
void progress_end(struct progress *progress);

#endif
