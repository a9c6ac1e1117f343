"""The rules that need only the text. Each takes the project and yields (place, message)."""
import ast
import os
import re
import subprocess
import sys

from source import MIN_REASON

MAX_FUNCTION_LINES = 70
MAX_FILE_LINES = 800
MAX_COLUMNS = 100

SUPPRESSIBLE = ("folders", "owners", "calls", "functions", "files", "columns", "guards", "warnings")

# Which folders a folder may include from (DESIGN 2). core/ knows nothing but itself.
GRAPH = {
    "server": ("server/", "api/", "storage/", "config/", "core/"),
    "api": ("api/", "core/"),
    "storage": ("storage/", "core/"),
    "config": ("config/", "core/base/"),
    "core": ("core/",),
}

# Who may include a library's header. Tests may include any.
OWNERS = (
    (r"uv\.h|microhttpd\.h|curl/.*", r"server/"),
    (r"lmdb\.h", r"storage/"),
    (r"jansson\.h", r".*_json\.[ch]$"),
    (r"utf8proc\.h|libstemmer\.h", r"core/text/"),
    (r"ini\.h", r"config/"),
    (r"cblas\.h|openblas.*", r"core/model/builtin/"),
    (r"check\.h", r"tests/unit/"),
    (r"sys/socket\.h|netinet/.*|arpa/inet\.h|netdb\.h|sys/un\.h", r"server/"),
)

# What may not be called, and where it may all the same.
BANNED = (
    (r"strcpy|strcat|sprintf|vsprintf|strtok|atoi|atol|alloca|gets", None),
    (r"getenv|secure_getenv|setenv|putenv", r"config/|tests/"),
)


def folders(project):
    for source in project.sources:
        top = source.path.split("/")[0]
        if top not in GRAPH:
            continue
        for line, quoted, name in source.includes():
            message = wrong_include(source.path, top, quoted, name)
            if message and not source.is_allowed("folders", line):
                yield "%s:%d" % (source.path, line), message


def wrong_include(path, top, quoted, name):
    if not quoted:
        return "%s is ours: include it in quotes" % name if os.path.isfile(name) else ""
    if not os.path.isfile(name):
        return "%s: no such file from the top of the tree" % name
    if not name.startswith(GRAPH[top]):
        return "%s/ may not include %s" % (top, name)
    if name.endswith("_int.h") and os.path.dirname(name) != os.path.dirname(path):
        return "%s is private to its folder" % name
    if "/kernels/" in path and os.path.basename(name) != "kernels.h":
        return "a kernel includes kernels.h only"
    return ""


def owners(project):
    for source in project.sources:
        if source.path.startswith("tests/"):
            continue
        for line, _, name in source.includes():
            for header, where in OWNERS:
                if re.fullmatch(header, name) and not re.match(where, source.path):
                    if not source.is_allowed("owners", line):
                        yield "%s:%d" % (source.path, line), "%s belongs to %s" % (name, where)


def calls(project):
    for names, where in BANNED:
        pattern = re.compile(r"\b(%s)\s*\(" % names)
        for source in project.sources:
            if where and re.match(where, source.path):
                continue
            for match in pattern.finditer(source.code):
                line = source.line_of(match.start())
                if not source.is_allowed("calls", line):
                    yield "%s:%d" % (source.path, line), "%s() is banned" % match.group(1)
    for source in project.sources:
        if re.match(r"config/|tests/", source.path):
            continue
        for match in re.finditer(r"\benviron\b", source.code):
            yield "%s:%d" % (source.path, source.line_of(match.start())), "config/ reads that"


def functions(project):
    for source in project.sources:
        for opened, closed in source.functions():
            length = closed - opened
            if length <= MAX_FUNCTION_LINES:
                continue
            if not source.is_allowed("functions", source.head_of(opened), opened + 1):
                yield ("%s:%d" % (source.path, opened),
                       "a function of %d lines, at most %d" % (length, MAX_FUNCTION_LINES))


def files(project):
    for source in project.sources:
        length = len(source.lines)
        if length > MAX_FILE_LINES and not source.is_allowed("files", 1, length):
            yield source.path, "%d lines, at most %d" % (length, MAX_FILE_LINES)


def columns(project):
    for source in project.sources:
        for number, line in enumerate(source.lines, 1):
            if len(line) > MAX_COLUMNS and not source.is_allowed("columns", number):
                yield "%s:%d" % (source.path, number), "%d columns" % len(line)
    for path, text in project.scripts.items():
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > MAX_COLUMNS:
                yield "%s:%d" % (path, number), "%d columns" % len(line)


def todo(project):
    # Put together here so that this line is no finding itself.
    pattern = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX")) + r")\b")
    texts = dict(project.scripts, **{source.path: source.text for source in project.sources})
    for path, text in sorted(texts.items()):
        for number, line in enumerate(text.splitlines(), 1):
            match = pattern.search(line)
            if match:
                yield "%s:%d" % (path, number), "%s: do it or file it" % match.group(1)


def guards(project):
    for source in project.sources:
        if not source.path.endswith(".h") or source.is_allowed("guards", 1, len(source.lines)):
            continue
        once = re.findall(r"^[ \t]*#[ \t]*pragma[ \t]+once\b", source.code, re.M)
        guard = re.match(r"\s*#[ \t]*ifndef[ \t]+(\w+)\s+#[ \t]*define[ \t]+\1\b", source.code)
        if len(once) + (guard is not None) != 1:
            yield source.path, "one #pragma once or one include guard before anything else"


def suppressions(project):
    """Every way to silence a tool names what it silences and says why."""
    for source in project.sources:
        for item in source.suppressions:
            place = "%s:%d" % (item.path, item.first)
            if item.rule not in SUPPRESSIBLE:
                yield place, "lint: no rule '%s' (%s)" % (item.rule, ", ".join(SUPPRESSIBLE))
            elif len(item.reason) < MIN_REASON:
                yield place, "lint: %s wants a reason" % item.rule
        yield from silenced_tools(source)
    yield from silenced_files()


def unused(project):
    """Runs last: the other rules mark what they needed."""
    for source in project.sources:
        for item in source.suppressions:
            if not item.used and item.rule in SUPPRESSIBLE:
                yield "%s:%d" % (item.path, item.first), "lint: %s silences nothing" % item.rule


def silenced_tools(source):
    for number, line in enumerate(source.lines, 1):
        place = "%s:%d" % (source.path, number)
        if "NOLINT" in line and "NOLINTEND" not in line:
            match = re.search(r"NOLINT(?:NEXTLINE|BEGIN)?\([\w.,* -]+\):\s*(.*)", line)
            if not match or len(match.group(1).replace("*/", "").strip()) < MIN_REASON:
                yield place, "want NOLINT…(check): reason"
        if "cppcheck-suppress" in line:
            match = re.search(r"cppcheck-suppress\s+\S+\s*;\s*(.*)", line)
            if not match or len(match.group(1).replace("*/", "").strip()) < MIN_REASON:
                yield place, "want cppcheck-suppress id ; reason"
        if re.search(r"#\s*pragma\s+(GCC|clang)\s+diagnostic\s+ignored", line):
            if not source.is_allowed("warnings", number):
                yield place, "a silenced warning wants /* lint: warnings: reason */"


def silenced_files():
    """Each check that .clang-tidy disables, and each row of the other lists, has a reason."""
    for path in (".clang-tidy", "tests/.clang-tidy"):
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for name in re.findall(r"^\s+-(\w[\w.*-]*),?$", text, re.M):
                if not re.search(r"^#\s*%s: \S.{%d,}" % (re.escape(name), MIN_REASON), text, re.M):
                    yield path, "%s is disabled without '# %s: reason'" % (name, name)
    path = "tests/lint/cppcheck.suppress"
    with open(path, encoding="utf-8") as file:
        previous = ""
        for number, line in enumerate(file, 1):
            if line.strip() and not line.startswith("#") and not previous.startswith("#"):
                yield "%s:%d" % (path, number), "wants a comment line with the reason before it"
            previous = line


# Scripts that are run by hand, never by a test, and the packages of their environment.
BY_HAND = {
    "tests/golden/": {"numpy", "safetensors", "sentence_transformers", "tokenizers", "torch",
                      "transformers"},
}


def scripts(project):
    """Scripts parse; Python is 3.9 with the standard library alone."""
    local = {os.path.basename(path)[:-3] for path in project.scripts if path.endswith(".py")}
    known = getattr(sys, "stdlib_module_names", None)
    for path, text in project.scripts.items():
        if path.endswith(".py"):
            more = BY_HAND.get(os.path.dirname(path) + "/", set())
            yield from python_script(path, text, local | more, known)
        elif text.startswith("#!"):
            shell = "bash" if "bash" in text.split("\n", 1)[0] else "sh"
            done = subprocess.run([shell, "-n", path], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                yield path, done.stderr.strip()
        if text.startswith("#!") and not os.access(path, os.X_OK):
            yield path, "starts with #! but is not executable"


def python_script(path, text, local, known):
    try:
        tree = ast.parse(text, path, feature_version=(3, 9))
    except SyntaxError as error:
        yield path, "not Python 3.9: %s" % error
        return
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module]
        for name in names:
            top = name.split(".")[0]
            if known is not None and top not in known and top not in local and top != "tests":
                yield "%s:%d" % (path, node.lineno), "%s is not in the standard library" % top
