#!/usr/bin/env python3
"""Prints core/text/basic_ranges.c: which characters the reference tokenizer drops, takes for
punctuation, strips as accents, or puts in canonical order among those it keeps. It is asked about
every one, because its tables are of an edition of Unicode of its own. Run by hand, with the package
`tokenizers`:

    VENV/bin/python tests/golden/make_ranges.py > core/text/basic_ranges.c
    clang-format -i core/text/basic_ranges.c
"""
import tokenizers

HEAD = """/* Made by tests/golden/make_ranges.py; tokenizers %s. */
#include "core/text/basic_int.h"
"""


def normalizer(**what):
    off = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False,
           "lowercase": False}
    return tokenizers.normalizers.BertNormalizer(**dict(off, **what)).normalize_str


def ranges(chosen):
    out = []
    for cp in chosen:
        if out and out[-1][1] == cp - 1:
            out[-1][1] = cp
        else:
            out.append([cp, cp])
    return out


def is_ordered(strip, cp):
    """Whether it moves in front of or behind a mark of class 224 or 216 that is kept."""
    mark = chr(cp)
    return any(strip("a" + mark + other) == "a" + other + mark or
               strip("a" + other + mark) == "a" + mark + other
               for other in ("\u302e", "\U0001d165"))


def show(name, chosen):
    rows = ranges(chosen) + [[0x110000, 0x110000]]
    # How many is also in basic_int.h.
    print("\n/* %d rows. */\nconst struct basic_range basic__%s[BASIC_%s] = {" % (
        len(rows), name, name.upper()))
    line = "   "
    for first, last in rows:
        item = " {0x%04x, 0x%04x}," % (first, last)
        if len(line + item) > 100:
            print(line)
            line = "   "
        line += item
    print(line + "\n};")


def main():
    everything = [cp for cp in range(0x80, 0x110000) if not 0xd800 <= cp < 0xe000]
    clean, strip = normalizer(clean_text=True), normalizer(strip_accents=True)
    split = tokenizers.pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    print(HEAD % tokenizers.__version__, end="")
    show("dropped", [cp for cp in everything if clean(chr(cp)) == ""])
    show("accents", [cp for cp in everything if strip(chr(cp)) == ""])
    show("ordered", [cp for cp in everything
                     if strip(chr(cp)) == chr(cp) and is_ordered(strip, cp)])
    show("punctuation",
         [cp for cp in everything if len(split("a" + chr(cp) + "b")) == 3])


if __name__ == "__main__":
    main()
