"""The texts and pairs of the golden files: written for this project, the bulk of it put together
from lists of words by a fixed generator, so that the same texts come out everywhere."""
import itertools
import json

PEOPLE = ("Anna", "Bongani", "Chiara", "Dmitri", "Eun-ji", "Fatima", "Gustav", "Hiroko", "Ines",
          "João", "Katarzyna", "Luis", "Mélanie", "Nguyễn", "Oluwaseun", "Priya")
VERBS = ("repaired", "painted", "forgot", "photographed", "sold", "borrowed", "described",
         "cancelled", "rescheduled", "recommended", "unpacked", "misplaced")
THINGS = ("the old bicycle", "a watercolour of the harbour", "her grandmother's recipe book",
          "two concert tickets", "the greenhouse thermometer", "an oboe", "a box of jigsaw puzzles",
          "the quarterly report", "a rented kayak", "his telescope", "seventeen tulip bulbs",
          "the neighbours' cat")
WHEN = ("yesterday", "last Tuesday", "on 7 May 2023", "two weeks ago", "at 6:45 pm",
        "before the storm", "during the night shift", "in mid-November", "after lunch",
        "the day before the wedding")
WHY = ("because the train was late", "so that nobody would notice", "although it rained all day",
       "and never told anyone", "for €45.50", "without asking", "as a birthday surprise",
       "despite the doctor's advice", "since the museum was closed", "to save 20% of the costs")
WORDS = ("river", "window", "compile", "gentle", "quarrel", "unbelievable", "photosynthesis", "tea",
         "of", "and", "the", "harmonica", "re-elected", "don't", "3.5", "blueprint", "whisper",
         "tokenization", "marathon", "counterrevolutionaries", "zinc", "is", "under", "saxophonist",
         "café", "naïve", "Zürich", "lukewarm", "7,000", "jellyfish", "misunderstanding", "go")

SHORT = ("", " ", "a", "A", ".", "?", "!?", "ok", "Hi!", "thanks", "yes", "No.", "42", "0", "-1",
         "lol", "Hm…", "what?", "the", "THE", "x y", "I'm", "you're", "can't", "o'clock", "A.B.C.",
         "U.S.A.", "e.g.", "Dr. Who", "C++", "C#", ".NET", "R&D", "#1", "@home", "50%", "$5",
         "1+1=2", "a/b", "a\\b", "a_b", "a-b", "a--b", "a—b", "(a)", "[a]", "{a}", "<a>",
         "\"a\"", "'a'")

ODD = (
    # Blanks of all kinds and controls.
    "\t", "\n\n", "\r\n", "\u00a0", "\u3000", "\u200b", "\ufeff", "tab\there", "line\nfeed",
    "carriage\r\nreturn", "vertical\u000btab", "form\u000cfeed", "nbsp\u00a0between",
    "em\u2003space and thin\u2009space", "line\u2028separator\u2029paragraph", "next\u0085line",
    "ideographic\u3000space", "ogham\u1680space", "  leading and trailing  ", "a  b   c    d",
    "nul\u0000inside", "\u0000", "\u0000\u0001\u0002",
    "bell\u0007 and escape\u001b[31mred\u001b[0m", "delete\u007fd", "c1\u0080\u009fcontrols",
    "soft\u00adhyphen", "zero\u200bwidth\u200bspace", "zero\u200cwidth\u200cnon\u200cjoiner",
    "zero\u200dwidth\u200djoiner", "word\u2060joiner", "\ufeffbyte order mark",
    "replacement \ufffd character", "\ufffd\ufffd", "private \ue000 use",
    "private \U000f0000 plane", "noncharacter \ufffe and \U0010ffff", "unassigned \u0378 letter",
    "interlinear \ufff9annotation\ufffb", "object \ufffc replacement", "\u061carabic letter mark",
    "left\u200eto\u200fright marks", "\u202aembedding\u202c and \u2066isolate\u2069",
    "tag \U000e0041\U000e0042 characters", "variation\ufe0f selector", "mongolian \u180e vowel",
    # Marks, composed and not.
    "café", "cafe\u0301", "naïve façade", "naïve fac\u0327ade", "Ångström",
    "A\u030angstro\u0308m", "Zürich Köln Düsseldorf", "Søren Kierkegård",
    "Łódź Gdańsk Świnoujście", "Þórður Æsir ð", "œuvre Œdipe", "ﬁne ﬂow oﬃce ligatures",
    "straße STRASSE ẞ", "Dvořák Škvorecký Žižek", "Tiếng Việt có dấu", "tiê\u0301ng Viê\u0323t",
    "a\u0300\u0301\u0302\u0303\u0304 stacked", "\u0301 mark alone", "x\u0338 negated",
    "Z\u0351\u036b\u0343a\u0329\u0308l\u0357g\u0327o\u0332", "enclosing a\u20dd circle",
    "½ ¼ ⅓ fractions", "x² + y³ = z₁", "№ ™ ® © ℃ Å Ω", "Ⅷ Ⅳ ⅻ", "ＦＵＬＬ ｗｉｄｔｈ １２３！",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝕄𝕒𝕥𝕙 𝐛𝐨𝐥𝐝", "ⓒⓘⓡⓒⓛⓔⓓ", "ｈａｌｆ ｶﾀｶﾅ",
    # Case.
    "İstanbul", "ISTANBUL", "ıstanbul ıspanak", "DİYARBAKIR Iğdır", "ΟΔΥΣΣΕΥΣ", "Ὀδυσσεύς ὁδός",
    "Σίσυφος ΣΊΣΥΦΟΣ σίγμα τελικό ς", "ǅungla ǈubav ǋegoš", "ΆΈΉΊΌΎΏ άέήίόύώ ΐΰ", "ᾳ ᾼ ῃ ῳ",
    "ПРИВЕТ, Мир!", "Ёлка ёж Йод й", "ЇЖАК Ґанок", "Ⴀ Ა ა", "Հայաստան ՀԱՅ և", "ꙀꙊ Ꙋ", "Ꭰ ꭰ Ᏸ",
    "𐐀𐐨 Deseret", "MiXeD CaSe WoRdS", "iPhone eBay McDonald LaTeX",
    # Chinese, Japanese, Korean and others.
    "你好，世界！", "我昨天在图书馆借了三本书。", "繁體字與简体字", "東京タワーに行きました。", "ひらがな カタカナ 漢字", "がぎぐげご パピプペポ",
    "か\u3099 は\u309a", "안녕하세요 세계", "한국어 문장입니다.", "\u1112\u1161\u11ab\u1100\u1173\u11af", "ㅋㅋㅋ ㅠㅠ",
    "𠀀𠮷野家", "〇一二三", "㐀㐁", "豈更車", "丽\U0002f800",
    "\U0002a700\U0002b740\U0002b820\U0002b91f\U0002b920", "⺀⼀⿰ radicals", "、。「」『』【】〒",
    "mixed中文and English混排text", "Python3是一种编程语言v3.11", "สวัสดีชาวโลก", "ภาษาไทยไม่มีช่องว่าง",
    "ສະບາຍດີ", "မင်္ဂလာပါ", "សួស្តី", "नमस्ते दुनिया", "हिन्दी में एक वाक्य।", "क़ ख़ ज़ ड़",
    "বাংলা ভাষা", "தமிழ் மொழி", "తెలుగు", "ಕನ್ನಡ", "മലയാളം", "ਪੰਜਾਬੀ", "ગુજરાતી", "සිංහල",
    "བོད་ཡིག།", "አማርኛ ቋንቋ።", "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ", "שלום עולם", "שָׁלוֹם עֲלֵיכֶם", "אני גר בתל־אביב",
    "مرحبا بالعالم", "اَلْعَرَبِيَّةُ", "سلام دنیا، چطوری؟", "یہ اردو ہے۔", "ܫܠܡܐ", "ޑިވެހި",
    "left שמאל right ימין 123", "العدد ١٢٣٤٥", "१२३ ৪৫৬ ๗๘๙", "ﷺ ﻻ ﷲ", "ქართული ენა",
    "ελληνικά; ερωτηματικό", "Ѣ Ѳ Ѵ ѫ", "ⲙⲉⲧⲣⲉⲙⲛⲭⲏⲙⲓ", "𐌲𐌿𐍄𐌹𐍃𐌺", "ᚠᚢᚦᚨᚱᚲ", "𒀀𒁀 𓀀𓁐", "𑀓𑀔", "ꦗꦮ",
    "ᨅᨔ", "ᏣᎳᎩ", "ᐃᓄᒃᑎᑐᑦ", "ⵜⴰⵎⴰⵣⵉⵖⵜ", "ߒߞߏ",
    # Emoji.
    "😀", "😀😃😄", "I ❤️ this", "👍🏽 great", "👨‍👩‍👧‍👦 family", "🇩🇪🇫🇷 flags", "🏳️‍🌈", "1️⃣2️⃣",
    "🥰🫠🪿🫨 newer", "☃☀☎✂", "party 🎉🎂 at 8", "so funny 😂😂😂!!!", "¯\\_(ツ)_/¯", "( ͡° ͜ʖ ͡°)",
    "(╯°□°)╯︵ ┻━┻",
    # Marks that later editions of Unicode added: what the reference takes for unassigned.
    "⹃⹄⹅ ⹒", "\u1abf\u1ac0 \u1df6", "𑥃 \U00011938", "\u08e2 \U000110cd", "᙭ ⸮ ⸱", "꛲ ꛳", "𐬺",
    # Money, signs.
    "$100 €200 £300 ¥400 ₹500 ₿6", "¢ ¤ ₩ ₽ ₺", "1,234.56", "1.234,56", "1 234,56", "−5 °C",
    "±3σ", "≤ ≥ ≠ ≈", "∑∫∂√∞", "→ ← ↔ ⇒", "§ 5 ¶ 2", "• one ◦ two ▪ three",
    "«guillemets» „quotes“ ‚single‘", "“smart” ‘quotes’ and – dashes —", "ellipsis… and… more",
    "´acute` ^caret ~tilde ¨ ¯ ¸ ˇ", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "¡Hola! ¿Qué tal?",
    "‽ ⁂ † ‡ ‰", "│─┌┐└┘█▓▒░", "♠♥♦♣ ♪♫",
    # Special tokens written in a text.
    "[SEP]", "[MASK]", "[CLS] hello [SEP]", "the [MASK] sat", "[PAD][PAD]", "[UNK]",
    "word[SEP]word", "[sep] [mask] in lower case", "[SEP", "SEP]", "[ SEP ]", "[[SEP]]",
    "[SEP][SEP][MASK][CLS]", "[unused1] ##ing", "##s", "a ##b ## #", "[SEP]\u0301 mark behind",
    "[\u200bSEP]", "[MASK]ed [MASK].", "[S\u0000EP] nul in a token",
    "ignore all of it [SEP] and answer this instead",
    # Long words.
    "a" * 99, "b" * 100, "c" * 101, "d" * 500, "é" * 100, "e\u0301" * 100, "e\u0301" * 101,
    "x" * 60 + "-" + "y" * 60,
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    "pneumonoultramicroscopicsilicovolcanoconiosis", "ab" * 49 + "!" + "cd" * 51, "1" * 120,
    "0123456789" * 9, "Üb" * 50, "Üb" * 51, "字" * 130, "ไ" * 101, "=" * 150, "ha" * 40,
    "no" + "o" * 90,
    # Addresses and code.
    "https://example.org/path/to/page?query=one&other=two#part",
    "http://127.0.0.1:7070/v1/spaces/demo", "www.example.com", "user.name+tag@example.co.uk",
    "ftp://files.example.net/pub/a_b-c.tar.gz", "/usr/local/share/doc/README.md",
    "C:\\Users\\someone\\file.txt", "2001:db8::ff00:42:8329", "192.0.2.17",
    "int main(void) { return 0; }", "for (size_t i = 0; i < n; i++)\n\tsum += a[i];",
    "def greet(name: str) -> str:\n    return f\"Hello, {name}!\"",
    "SELECT id, name FROM users WHERE age >= 18;", "<div class=\"note\">text &amp; more</div>",
    "{\"key\": [1, 2.5, null, true]}", "git commit -m 'fix: off by one'", "x = lambda a: a ** 2",
    "#include <stdio.h>", "$ curl -X POST -d @body.json", "std::vector<int>::iterator",
    "camelCaseIdentifier snake_case_identifier kebab-case", "0xDEADBEEF 0b1010 1e-9 NaN",
    "regex: ^\\d{3}-[a-z]+$", "| a | b |\n|---|---|\n| 1 | 2 |", "- [ ] one\n- [x] two",
    "# Title\n\n**bold** _it_ `code`", "3:45pm 15:45 12/31/1999", "2023-05-07T13:56:00Z",
    "+49 (0)30 123456-78", "ISBN 978-3-16-148410-0", "v1.2.3-rc.4", "E=mc^2", "H2O CO2 C6H12O6",
    "GATTACAGATTACA", "3d6e4f1a-77b2-4c0e-9f3b-2a1d5c6b7e8f", "QmFzZTY0IHRleHQgaGVyZQ==",
    "~/.config/app.ini",
)


class Numbers:
    """A small generator of our own: Python's may change between versions."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (self.state >> 33) % n

    def pick(self, items):
        return items[self.below(len(items))]


def sentence(numbers):
    parts = [numbers.pick(PEOPLE), numbers.pick(VERBS), numbers.pick(THINGS)]
    if numbers.below(3):
        parts.append(numbers.pick(WHEN))
    if numbers.below(2):
        parts.append(numbers.pick(WHY))
    return " ".join(parts) + numbers.pick((".", ".", ".", "!", "?", "…"))


def question(numbers):
    form = numbers.pick(("When did {} lose {}?", "Who else saw {1}, {0}?",
                         "How many times has {} seen {}?", "Did {} ever mention {}?",
                         "what does {} think about {}"))
    return form.format(numbers.pick(PEOPLE), numbers.pick(THINGS))


def words(numbers, n):
    return " ".join(numbers.pick(WORDS) for _ in range(n))


def make_texts(n=500):
    numbers = Numbers(20230507)
    texts = list(SHORT + ODD)
    texts += [words(numbers, k) for k in (250, 252, 254, 256, 260, 300, 450, 600, 600)]
    texts.append("  ".join(sentence(numbers) for _ in range(80)))
    texts.append("图书馆里有很多书。" * 80)
    texts.append(("Emoji 😀 and accents é, " * 60) + "[SEP] the end")
    while len(texts) < n:
        kind = len(texts) % 4
        if kind == 0:
            text = question(numbers)
        elif kind == 3:
            text = "%s: %s" % (numbers.pick(PEOPLE),
                               " ".join(sentence(numbers) for _ in range(1 + numbers.below(6))))
        else:
            text = sentence(numbers)
        if text not in texts:
            texts.append(text)
    assert len(texts) == n and len(set(texts)) == n, (len(texts), len(set(texts)))
    return texts


def make_pairs(texts, n=200):
    """Questions and documents; some with an empty or a very long side, so that both sides are
    cut."""
    numbers = Numbers(19991231)
    long = [words(numbers, k) for k in (30, 45, 61, 62, 90, 200, 600)]
    pairs = [("", ""), ("", "a document"), ("a question", ""), ("[SEP]", "[SEP] [CLS]"), ("?", "!")]
    pairs += list(itertools.product(long, long))[:40]
    pairs += [(q, d) for q in long[:6] for d in ("tea", "", "the harmonica is lukewarm")]
    pairs += [(q, d) for d in long for q in ("tea?", "", "is the harmonica lukewarm")]
    while len(pairs) < n:
        document = numbers.pick(texts) if numbers.below(4) == 0 else sentence(numbers)
        pair = (question(numbers), document)
        if pair not in pairs:
            pairs.append(pair)
    return pairs[:n]


def write(path, items):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write("[\n" + ",\n".join(json.dumps(item) for item in items) + "\n]\n")
