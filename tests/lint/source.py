"""C sources as the lint rules see them: the text, the code without comments and literals, includes,
functions, and suppressions.

A suppression is a comment  /* lint: RULE: why */  on the line of the finding or on the line before
it (for a function: in the lines before its opening brace; for a whole file: anywhere in it). A
suppression that suppresses nothing is a finding itself.
"""
import re

SKIP = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""", re.X | re.S)
SUPPRESSION = re.compile(r"/\*\s*lint:(.*?)\*/", re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
MIN_REASON = 12


def blank(match):
    """Spaces of the same length, newlines kept, so that positions stay."""
    return re.sub(r"[^\n]", " ", match.group(0))


class Suppression:
    def __init__(self, path, first, last, body):
        rule, _, reason = body.partition(":")
        self.path, self.first, self.last = path, first, last
        self.rule = rule.strip()
        self.reason = " ".join(reason.split())
        self.used = False


class Source:
    def __init__(self, path):
        self.path = path
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.code = SKIP.sub(blank, self.text)
        self.lines = self.text.splitlines()
        self.code_lines = self.code.splitlines()
        self.suppressions = [
            Suppression(path, self.line_of(match.start()), self.line_of(match.end()),
                        match.group(1))
            for match in SUPPRESSION.finditer(self.text)]

    def line_of(self, position):
        return self.text.count("\n", 0, position) + 1

    def includes(self):
        """(line, is quoted, name) of each include that is not commented out."""
        for match in INCLUDE.finditer(self.text):
            line = self.line_of(match.start(1))
            if self.code_lines[line - 1].lstrip().startswith("#"):
                yield line, match.group(1) == '"', match.group(2)

    def functions(self):
        """(line of the opening brace, of the closing one): braces in the first column."""
        opened = None
        for number, line in enumerate(self.code_lines, 1):
            if line.rstrip() == "{" and line.startswith("{"):
                opened = number
            elif opened is not None and line.startswith("}"):
                yield opened, number
                opened = None

    def head_of(self, opened):
        """The first line of the comment and signature above an opening brace."""
        line = opened - 1
        while line > 0 and self.lines[line - 1].strip() and self.lines[line - 1][0] not in "}#":
            line -= 1
        return line + 1

    def is_allowed(self, rule, first, last=None):
        """Whether a suppression of `rule` covers the lines first..last."""
        for item in self.suppressions:
            covers = item.last + 1 >= first and item.first <= (last or first)
            if item.rule == rule and covers:
                item.used = True
                return True
        return False
