/* Function words of each language, from its grammar: articles, pronouns, prepositions, auxiliaries,
 * conjunctions, question words, negations; in English also contractions as they are typed without
 * the apostrophe, unless that is another word ("shed", "well"). "may" is left out (a month). */
#include "core/base/buf.h"
#include "core/text/language.h"

enum { WORD_BYTES = 16 };
_Static_assert(WORD_BYTES == 16, "a word compares as two numbers of 64 bits");

/* Each ascending by bytes, padded with NULs. */
static const char words_en[][WORD_BYTES] = {
    "a",         "about",   "above",   "after",    "again",      "against",  "aint",
    "all",       "already", "also",    "although", "am",         "an",       "and",
    "any",       "are",     "arent",   "as",       "at",         "be",       "because",
    "been",      "before",  "being",   "below",    "between",    "both",     "but",
    "by",        "can",     "cannot",  "cant",     "could",      "couldnt",  "did",
    "didnt",     "do",      "does",    "doesnt",   "doing",      "don",      "done",
    "dont",      "down",    "during",  "each",     "either",     "else",     "even",
    "ever",      "every",   "few",     "for",      "from",       "further",  "gonna",
    "gotta",     "had",     "hadnt",   "has",      "hasnt",      "have",     "havent",
    "having",    "he",      "her",     "here",     "heres",      "hers",     "herself",
    "hes",       "him",     "himself", "his",      "how",        "hows",     "i",
    "if",        "im",      "in",      "into",     "is",         "isnt",     "it",
    "itd",       "itll",    "its",     "itself",   "ive",        "just",     "lets",
    "me",        "might",   "mightnt", "mine",     "more",       "most",     "must",
    "mustnt",    "my",      "myself",  "neednt",   "neither",    "no",       "nor",
    "not",       "now",     "of",      "off",      "on",         "once",     "only",
    "onto",      "or",      "other",   "others",   "ought",      "our",      "ours",
    "ourselves", "out",     "over",    "own",      "quite",      "rather",   "really",
    "same",      "shall",   "she",     "shes",     "should",     "shouldnt", "so",
    "some",      "still",   "such",    "than",     "that",       "thatll",   "thats",
    "the",       "their",   "theirs",  "them",     "themselves", "then",     "there",
    "theres",    "these",   "they",    "theyll",   "theyre",     "theyve",   "this",
    "those",     "though",  "through", "to",       "too",        "toward",   "towards",
    "under",     "until",   "up",      "upon",     "us",         "very",     "via",
    "wanna",     "was",     "wasnt",   "we",       "were",       "werent",   "weve",
    "what",      "whats",   "when",    "whens",    "where",      "wheres",   "which",
    "while",     "who",     "whom",    "whos",     "whose",      "why",      "will",
    "with",      "within",  "without", "wont",     "would",      "wouldnt",  "yet",
    "you",       "youll",   "your",    "youre",    "yours",      "yourself", "yourselves",
    "youve",
};

static const char words_de[][WORD_BYTES] = {
    "aber",   "als",    "also",   "am",       "an",     "auch",   "auf",    "aus",     "bei",
    "beim",   "bin",    "bis",    "bist",     "da",     "dann",   "darf",   "das",     "dass",
    "dein",   "deine",  "deinem", "deinen",   "dem",    "den",    "denn",   "der",     "des",
    "dich",   "die",    "dies",   "diese",    "diesem", "diesen", "dieser", "dieses",  "dir",
    "doch",   "dort",   "du",     "durch",    "ein",    "eine",   "einem",  "einen",   "einer",
    "eines",  "er",     "es",     "euch",     "euer",   "für",    "gegen",  "gewesen", "habe",
    "haben",  "hast",   "hat",    "hatte",    "hatten", "her",    "hier",   "hin",     "hinter",
    "ich",    "ihm",    "ihn",    "ihr",      "ihre",   "ihrem",  "ihren",  "im",      "in",
    "ins",    "ist",    "ja",     "jene",     "jener",  "jetzt",  "kann",   "kein",    "keine",
    "keinem", "keinen", "konnte", "können",   "mal",    "man",    "mein",   "meine",   "meinem",
    "meinen", "meiner", "mich",   "mir",      "mit",    "muss",   "möchte", "müssen",  "nach",
    "neben",  "nein",   "nicht",  "nichts",   "noch",   "nun",    "nur",    "ob",      "oder",
    "ohne",   "schon",  "sehr",   "seid",     "sein",   "seine",  "seinem", "seinen",  "seiner",
    "seit",   "selbst", "sich",   "sie",      "sind",   "so",     "soll",   "sollte",  "um",
    "und",    "uns",    "unser",  "unsere",   "unter",  "vom",    "von",    "vor",     "wann",
    "war",    "waren",  "warst",  "warum",    "was",    "weil",   "welche", "welcher", "welches",
    "wem",    "wen",    "wenn",   "wer",      "werde",  "werden", "wessen", "wie",     "will",
    "wir",    "wird",   "wirst",  "wo",       "wollte", "worden", "wurde",  "wurden",  "wäre",
    "zu",     "zum",    "zur",    "zwischen", "über",
};

static const char words_fr[][WORD_BYTES] = {
    "a",       "ai",     "alors",   "après",    "as",     "au",      "aujourd", "aura",  "aurait",
    "aussi",   "aux",    "avaient", "avais",    "avait",  "avant",   "avec",    "avez",  "avoir",
    "avons",   "c",      "car",     "ce",       "ceci",   "cela",    "ces",     "cet",   "cette",
    "chez",    "comme",  "comment", "d",        "dans",   "de",      "depuis",  "des",   "donc",
    "dont",    "du",     "déjà",    "elle",     "elles",  "en",      "encore",  "entre", "es",
    "est",     "et",     "eu",      "eux",      "faire",  "fait",    "il",      "ils",   "j",
    "je",      "jusqu",  "l",       "la",       "le",     "les",     "leur",    "leurs", "lorsqu",
    "lorsque", "lui",    "m",       "ma",       "mais",   "me",      "mes",     "moi",   "mon",
    "même",    "n",      "ne",      "ni",       "non",    "nos",     "notre",   "nous",  "on",
    "ont",     "or",     "ou",      "oui",      "où",     "par",     "parce",   "pas",   "pendant",
    "peut",    "plus",   "pour",    "pourquoi", "puisqu", "puisque", "qu",      "quand", "que",
    "quel",    "quelle", "quelles", "quelqu",   "quels",  "qui",     "quoi",    "rien",  "s",
    "sa",      "sans",   "se",      "sera",     "serait", "ses",     "si",      "soi",   "sommes",
    "son",     "sont",   "sous",    "suis",     "sur",    "t",       "ta",      "te",    "tes",
    "toi",     "ton",    "tous",    "tout",     "toute",  "toutes",  "très",    "tu",    "un",
    "une",     "vers",   "vos",     "votre",    "vous",   "y",       "à",       "ça",    "étaient",
    "étais",   "était",  "étions",  "été",      "êtes",   "être",
};

static const char words_es[][WORD_BYTES] = {
    "a",      "al",       "algo",     "ante",     "aquel",   "aquella",  "aunque",  "bajo",
    "como",   "con",      "contra",   "cual",     "cuando",  "cuanto",   "cuál",    "cuándo",
    "cuánto", "cómo",     "de",       "del",      "desde",   "donde",    "dónde",   "e",
    "el",     "ella",     "ellas",    "ello",     "ellos",   "en",       "entre",   "era",
    "eran",   "eres",     "es",       "esa",      "esas",    "ese",      "eso",     "esos",
    "esta",   "estaba",   "estamos",  "estar",    "estas",   "este",     "esto",    "estos",
    "estoy",  "está",     "están",    "estás",    "fue",     "fueron",   "ha",      "haber",
    "había",  "hacia",    "han",      "has",      "hasta",   "hay",      "he",      "hemos",
    "la",     "las",      "le",       "les",      "lo",      "los",      "me",      "menos",
    "mi",     "mientras", "mis",      "muy",      "más",     "mí",       "nada",    "ni",
    "no",     "nos",      "nosotras", "nosotros", "nuestra", "nuestras", "nuestro", "nuestros",
    "o",      "os",       "otra",     "otro",     "para",    "pero",     "por",     "porque",
    "pues",   "que",      "quien",    "quienes",  "quién",   "qué",      "se",      "según",
    "ser",    "si",       "sido",     "sin",      "sino",    "sobre",    "somos",   "son",
    "soy",    "su",       "sus",      "sí",       "también", "tampoco",  "te",      "tengo",
    "ti",     "tiene",    "tienen",   "toda",     "todas",   "todo",     "todos",   "tras",
    "tu",     "tus",      "tú",       "u",        "un",      "una",      "unas",    "unos",
    "usted",  "ustedes",  "vosotros", "vuestra",  "vuestro", "y",        "ya",      "yo",
    "él",
};

static const char words_it[][WORD_BYTES] = {
    "a",      "abbiamo", "ad",     "agli",   "ai",     "al",     "all",    "alla",   "alle",
    "allo",   "anche",   "ancora", "avere",  "avete",  "aveva",  "avevo",  "c",      "che",
    "chi",    "ci",      "come",   "con",    "cosa",   "d",      "da",     "dagli",  "dai",
    "dal",    "dall",    "dalla",  "dalle",  "dallo",  "degli",  "dei",    "del",    "dell",
    "della",  "delle",   "dello",  "di",     "dove",   "e",      "ed",     "era",    "erano",
    "ero",    "essere",  "fino",   "fra",    "già",    "gli",    "ha",     "hai",    "hanno",
    "ho",     "i",       "il",     "in",     "io",     "l",      "la",     "le",     "lei",
    "li",     "lo",      "loro",   "lui",    "ma",     "me",     "mentre", "mi",     "mia",
    "mie",    "miei",    "mio",    "molto",  "ne",     "negli",  "nei",    "nel",    "nell",
    "nella",  "nelle",   "nello",  "no",     "noi",    "non",    "nostra", "nostri", "nostro",
    "o",      "per",     "perché", "però",   "più",    "po",     "quale",  "quali",  "quando",
    "quanta", "quanto",  "quell",  "quella", "quelle", "quelli", "quello", "quest",  "questa",
    "queste", "questi",  "questo", "quindi", "s",      "se",     "sei",    "senza",  "si",
    "siamo",  "siete",   "sono",   "stata",  "stato",  "su",     "sua",    "sue",    "sugli",
    "sui",    "sul",     "sull",   "sulla",  "sulle",  "sullo",  "suo",    "suoi",   "sé",
    "sì",     "te",      "ti",     "tra",    "tu",     "tua",    "tue",    "tuo",    "tuoi",
    "tutta",  "tutti",   "tutto",  "un",     "una",    "uno",    "verso",  "vi",     "voi",
    "vostra", "vostro",  "è",
};

static const char words_pt[][WORD_BYTES] = {
    "a",     "ao",     "aos",    "aquela", "aquele", "aquilo", "as",    "até",    "com",
    "como",  "contra", "da",     "das",    "de",     "desde",  "do",    "dos",    "dum",
    "duma",  "e",      "ela",    "elas",   "ele",    "eles",   "em",    "embora", "enquanto",
    "entre", "era",    "eram",   "essa",   "essas",  "esse",   "esses", "esta",   "estamos",
    "estar", "estas",  "estava", "este",   "estes",  "estou",  "está",  "estás",  "estão",
    "eu",    "foi",    "foram",  "haver",  "havia",  "há",     "isso",  "isto",   "já",
    "lhe",   "lhes",   "mais",   "mas",    "me",     "menos",  "meu",   "meus",   "mim",
    "minha", "minhas", "muito",  "na",     "nas",    "nem",    "no",    "nos",    "nossa",
    "nosso", "nossos", "num",    "numa",   "não",    "nós",    "o",     "onde",   "os",
    "ou",    "para",   "pela",   "pelas",  "pelo",   "pelos",  "pois",  "por",    "porque",
    "quais", "qual",   "quando", "quanto", "que",    "quem",   "se",    "sem",    "ser",
    "seu",   "seus",   "si",     "sido",   "sob",    "sobre",  "somos", "sou",    "sua",
    "suas",  "são",    "só",     "também", "te",     "tem",    "tenho", "ter",    "teu",
    "teus",  "ti",     "tinha",  "toda",   "todas",  "todo",   "todos", "tu",     "tua",
    "tuas",  "tudo",   "têm",    "um",     "uma",    "umas",   "uns",   "você",   "vocês",
    "vos",   "vós",    "à",      "às",     "é",      "és",
};

static const char words_nl[][WORD_BYTES] = {
    "aan",  "al",     "alles",  "als",     "ben",    "bent",    "bij",    "daar",  "dan",
    "dat",  "de",     "deze",   "die",     "dit",    "door",    "dus",    "een",   "en",
    "er",   "geen",   "gehad",  "geweest", "haar",   "had",     "hadden", "heb",   "hebben",
    "hebt", "heeft",  "hem",    "hen",     "het",    "hier",    "hij",    "hoe",   "hoewel",
    "hun",  "iets",   "ik",     "in",      "is",     "ja",      "je",     "jij",   "jou",
    "jouw", "jullie", "kan",    "kon",     "kunnen", "maar",    "me",     "met",   "mij",
    "mijn", "moet",   "moeten", "na",      "naar",   "nee",     "niet",   "niets", "nog",
    "nu",   "of",     "om",     "omdat",   "onder",  "ons",     "onze",   "ook",   "op",
    "over", "te",     "tegen",  "terwijl", "toen",   "tot",     "tussen", "u",     "uit",
    "uw",   "van",    "voor",   "waar",    "waarom", "wanneer", "want",   "waren", "was",
    "wat",  "we",     "wel",    "welk",    "welke",  "werd",    "werden", "wie",   "wij",
    "wil",  "word",   "worden", "wordt",   "zal",    "ze",      "zeer",   "zich",  "zij",
    "zijn", "zo",     "zonder", "zou",     "zullen",
};

static const char words_ru[][WORD_BYTES] = {
    "а",       "без",   "будем",  "будет", "будто", "буду",  "будут",   "бы",      "был",
    "была",    "были",  "было",   "быть",  "в",     "вам",   "вами",    "вас",     "ваш",
    "ведь",    "во",    "вот",    "все",   "вы",    "где",   "да",      "даже",    "для",
    "до",      "его",   "ее",     "ей",    "ему",   "если",  "есть",    "еще",     "ещё",
    "её",      "же",    "за",     "и",     "из",    "или",   "им",      "ими",     "их",
    "к",       "как",   "какая",  "какие", "какой", "когда", "которая", "которое", "которые",
    "который", "кто",   "ли",     "лишь",  "между", "меня",  "мне",     "мной",    "мое",
    "моей",    "мои",   "мой",    "моя",   "моё",   "мы",    "на",      "над",     "надо",
    "нам",     "нами",  "нас",    "наш",   "наша",  "наши",  "не",      "него",    "ней",
    "нет",     "ни",    "но",     "ну",    "о",     "об",    "он",      "она",     "они",
    "от",      "очень", "перед",  "по",    "под",   "после", "потом",   "потому",  "почему",
    "при",     "про",   "с",      "сам",   "своей", "свой",  "свою",    "себя",    "со",
    "та",      "так",   "также",  "там",   "твой",  "твоя",  "те",      "тебя",    "то",
    "тобой",   "тоже",  "только", "том",   "тот",   "тут",   "ты",      "у",       "уже",
    "чем",     "через", "что",    "чтоб",  "чтобы", "эта",   "эти",     "этим",    "это",
    "этого",   "этой",  "этом",   "этот",  "я",
};

static const char words_sv[][WORD_BYTES] = {
    "att",   "av",     "bara",   "blev",  "bli",      "blir",  "de",    "dem",    "den",
    "denna", "deras",  "dessa",  "det",   "detta",    "dig",   "din",   "dina",   "ditt",
    "du",    "där",    "då",     "efter", "eftersom", "ej",    "eller", "en",     "er",
    "era",   "ett",    "från",   "för",   "före",     "genom", "ha",    "hade",   "haft",
    "han",   "hans",   "har",    "henne", "hennes",   "hon",   "honom", "hos",    "hur",
    "här",   "i",      "inga",   "ingen", "inget",    "inte",  "ja",    "jag",    "kan",
    "kunde", "man",    "med",    "medan", "mellan",   "men",   "mig",   "min",    "mina",
    "mitt",  "mot",    "mycket", "måste", "nej",      "ni",    "nu",    "när",    "och",
    "också", "om",     "oss",    "på",    "redan",    "sig",   "sin",   "sina",   "sitt",
    "ska",   "skulle", "som",    "så",    "till",     "under", "utan",  "vad",    "var",
    "vara",  "varför", "varit",  "vem",   "vi",       "vid",   "vilka", "vilken", "vilket",
    "vill",  "vår",    "våra",   "vårt",  "än",       "är",    "över",
};

static const char words_da[][WORD_BYTES] = {
    "ad",      "af",    "allerede", "at",      "blev",    "blive",  "bliver", "da",      "de",
    "dem",     "den",   "denne",    "der",     "deres",   "det",    "dette",  "dig",     "din",
    "dine",    "disse", "dit",      "du",      "efter",   "eller",  "en",     "end",     "er",
    "et",      "for",   "fordi",    "fra",     "før",     "gennem", "haft",   "ham",     "han",
    "hans",    "har",   "havde",    "have",    "hende",   "hendes", "her",    "hos",     "hun",
    "hvad",    "hvem",  "hvilke",   "hvilken", "hvilket", "hvis",   "hvor",   "hvordan", "hvorfor",
    "hvornår", "i",     "ikke",     "ingen",   "intet",   "ja",     "jeg",    "jer",     "jeres",
    "kan",     "kun",   "kunne",    "man",     "med",     "meget",  "mellem", "men",     "mens",
    "mig",     "min",   "mine",     "mit",     "mod",     "må",     "måtte",  "nej",     "nu",
    "når",     "og",    "også",     "om",      "os",      "over",   "på",     "sig",     "sin",
    "sine",    "sit",   "skal",     "skulle",  "som",     "så",     "til",    "uden",    "under",
    "var",     "ved",   "vi",       "vil",     "ville",   "vor",    "vores",  "være",    "været",
};

static const char words_no[][WORD_BYTES] = {
    "allerede", "at",      "av",      "bare",  "ble",   "bli",    "blir",    "blitt",   "da",
    "de",       "deg",     "dem",     "den",   "denne", "der",    "dere",    "deres",   "det",
    "dette",    "din",     "dine",    "disse", "ditt",  "du",     "ei",      "eller",   "en",
    "enn",      "er",      "et",      "etter", "for",   "fordi",  "fra",     "før",     "gjennom",
    "ha",       "hadde",   "ham",     "han",   "hans",  "har",    "hatt",    "henne",   "hennes",
    "her",      "hos",     "hun",     "hva",   "hvem",  "hvilke", "hvilken", "hvilket", "hvis",
    "hvor",     "hvordan", "hvorfor", "i",     "ikke",  "ingen",  "intet",   "ja",      "jeg",
    "kan",      "kunne",   "man",     "med",   "meg",   "mellom", "men",     "mens",    "min",
    "mine",     "mitt",    "mot",     "mye",   "må",    "måtte",  "nei",     "nå",      "når",
    "og",       "også",    "om",      "oss",   "over",  "på",     "seg",     "sin",     "sine",
    "sitt",     "skal",    "skulle",  "som",   "så",    "til",    "under",   "uten",    "var",
    "ved",      "vi",      "vil",     "ville", "vår",   "våre",   "vårt",    "være",    "vært",
    "å",
};

static const char words_fi[][WORD_BYTES] = {
    "alle",  "ei",      "eivät",   "emme",    "en",    "ennen",   "et",      "ette",    "että",
    "he",    "heidän",  "heillä",  "heitä",   "hän",   "hänelle", "hänellä", "hänen",   "hänet",
    "häntä", "ilman",   "ja",      "jo",      "joka",  "jonka",   "jos",     "jossa",   "jota",
    "jotka", "jälkeen", "kanssa",  "kenen",   "koska", "kuin",    "kuinka",  "kuka",    "kun",
    "me",    "meidän",  "meille",  "meillä",  "meitä", "mihin",   "miksi",   "mikä",    "milloin",
    "minkä", "minua",   "minulla", "minulle", "minun", "minut",   "minä",    "missä",   "mistä",
    "miten", "mitä",    "mutta",   "myös",    "ne",    "niiden",  "niin",    "niissä",  "niitä",
    "nuo",   "nyt",     "näiden",  "nämä",    "ole",   "olemme",  "olen",    "olet",    "olette",
    "oli",   "olin",    "olivat",  "olla",    "ollut", "on",      "ovat",    "se",      "sekä",
    "sen",   "siellä",  "siihen",  "siinä",   "siitä", "sillä",   "sinua",   "sinulla", "sinulle",
    "sinun", "sinut",   "sinä",    "sitten",  "sitä",  "tai",     "te",      "teidän",  "teitä",
    "tuo",   "tuon",    "tuota",   "tämä",    "tämän", "tässä",   "tästä",   "tätä",    "täällä",
    "vai",   "vaikka",  "vain",    "vielä",   "yli",   "älä",
};

struct stop_list {
    char code[3];
    const char (*words)[WORD_BYTES];
    size_t n;
};

#define LIST(code)                                                                                 \
    {                                                                                              \
#code, words_##code, sizeof words_##code / sizeof words_##code[0]                          \
    }

static const struct stop_list lists[] = {
    LIST(en), LIST(de), LIST(fr), LIST(es), LIST(it), LIST(pt),
    LIST(nl), LIST(ru), LIST(sv), LIST(da), LIST(no), LIST(fi),
};

static const struct stop_list *list_of(const char *code)
{
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (lists[i].code[0] == code[0] && lists[i].code[1] == code[1])
            return &lists[i];
    return NULL;
}

bool stopwords_exist(const char *code)
{
    return list_of(code) != NULL;
}

bool stopword_is(const char *code, struct str word)
{
    const struct stop_list *list = list_of(code);
    char padded[WORD_BYTES] = "";
    if (list == NULL || word.len == 0 || word.len > WORD_BYTES)
        return false;
    memcpy(padded, word.at, word.len);
    uint64_t first = be64_get(padded), rest = be64_get(padded + 8);
    size_t low = 0, high = list->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t at = be64_get(list->words[middle]), behind = be64_get(list->words[middle] + 8);
        if (at == first && behind == rest)
            return true;
        DASSERT(middle == 0 ||
                memcmp(list->words[middle - 1], list->words[middle], WORD_BYTES) < 0);
        if (at < first || (at == first && behind < rest))
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}
