/* Small talk: the phrases that open, close and oil a conversation. Written as the tokenizer folds
 * them: lower case, no accents, no apostrophes, letters that are drawn out ("heyyy") once. */
#include "core/text/rune.h"
#include "core/text/sentence.h"

enum { WORDS_MAX = 24, WORD_BYTES = 64, FAREWELL_WORDS = 8 };

enum phrase_kind { PHRASE_GREETING, PHRASE_FAREWELL, PHRASE_FILLER };

struct phrase_list {
    enum phrase_kind kind;
    const char *const *groups; /* phrases with the same first byte, separated by '|'; ascending */
    size_t n;
};

#define LIST(kind, phrases)                                                                        \
    {                                                                                              \
        kind, phrases, sizeof(phrases) / sizeof(phrases)[0]                                        \
    }

/* Phrases of scripts that separate words. */
static const char *const spaced_greetings[] = {
    "been a while|bonjour|bonsoir|buenos dias|buenas tardes|buenas noches|buongiorno",
    "buonasera|bom dia|boa tarde|boa noite",
    "coucou|ca va|comment ca va|comment vas tu|como estas|ciao|come stai",
    "greetings|good morning|good afternoon|good evening|good day|good to see you",
    "great to see you|good to hear from you|great to hear from you|good to talk to you",
    "great to talk to you|guten morgen|guten tag|guten abend|gruss gott|goedemorgen",
    "goedemiddag|goedenavond|god morgon|god morgen",
    "hi|hey|hello|hiya|howdy|heya|how are you|how are you doing|how are you today",
    "how are you doing today|how r u|how have you been|how you been|how you doing",
    "how ya doing|hows it going|how is it going|hows your day|hows your day going",
    "how are things|hows everything|hows life|how do you do|hallo|hola|hoi|hej|hei",
    "its been a while|it has been a while|its been ages|its been so long",
    "long time no see|long time no talk|long time no chat",
    "morning|moin|moi|merhaba",
    "nice to see you|nice to meet you|nice to hear from you|nice hearing from you",
    "nice to talk to you",
    "ola|oi",
    "que tal",
    "sup|servus|salut|salve",
    "tudo bem|terve",
    "whats up|what is up|wassup|welcome back|wie gehts|wie geht es dir",
    "yo",
    "γεια|γεια σου|καλημερα",
    "привет|здравствуйте|здравствуй|добрый день|доброе утро|добрый вечер|как дела",
    "שלום",
    "السلام عليكم|اهلا",
    "مرحبا",
    "नमस्ते",
};
static const char *const spaced_farewells[] = {
    "all the best|auf wiedersehen|au revoir|a bientot|a plus|a plus tard|a demain|adios",
    "arrivederci|a presto|a dopo|ate logo|ate mais|ate breve",
    "bye|bye bye|byebye|best wishes|bis bald|bis spater|bis dann|bonne nuit|bonne journee",
    "buonanotte|buona notte",
    "cya|chat later|chat soon|chat with you later|catch you later|catch ya later",
    "catch up later|catch up soon|chao",
    "doei",
    "farewell|farvel",
    "goodbye|good bye|good night|goodnight|gotta go|gotta run|got to go|gute nacht",
    "have a good one|have a great one|have a good day|have a great day|have a nice day",
    "have a wonderful day|have a good night|have a great night|have a good evening",
    "have a great evening|have a good weekend|have a great weekend|have a nice weekend",
    "have a great time|have a good time|have fun|hasta luego|hasta pronto|hasta manana",
    "hej da|ha det|hei hei",
    "keep in touch",
    "later|laters|lets keep in touch|lets stay in touch",
    "machs gut",
    "night night|nighty night|nos vemos|nakemiin",
    "peace out",
    "see you|see ya|see u|see you later|see ya later|see you soon|see ya soon|see you around",
    "see you then|see you next time|see you there|speak soon|speak to you soon|so long",
    "sweet dreams|sleep well|stay in touch|stay safe",
    "till next time|talk to you later|talk to you soon|talk later|talk soon|ttyl|ttys",
    "take care|take it easy|tschuss|tchau|tot ziens|tot straks",
    "until next time|until then",
    "vi ses",
    "welterusten",
    "αντιο",
    "пока|до свидания|до встречи",
    "увидимся|спокойной ночи",
    "להתראות",
    "مع السلامة",
};
static const char *const spaced_fillers[] = {
    "appreciate it|appreciate that|anytime|any time|alright|all right|aye|awesome|ah|aha|aw",
    "aww|absolutely|agreed|anyway|anyways|and yourself|alles klar",
    "best of luck|bless you|bitte|bitte schon|bien sur|bedankt",
    "cool|congrats|congratulations|cheers|claro|certo|claro que sim",
    "dont mention it|definitely|doing well|doing good|doing great|danke|danke schon",
    "danke dir|de rien|d accord|daccord|desole|de nada|dank je|dank je wel|dank u",
    "er|exactly|excuse me",
    "for sure|fair enough",
    "glad to help|got it|gotcha|great|good luck|good for you|good job|great job|great work",
    "good to hear|great to hear|gern geschehen|genau|gut|gracias|grazie|grazie mille",
    "graag gedaan",
    "happy to help|hm|hmm|huh|hooray|how nice|how cool|how exciting|how lovely|how about you",
    "hows yourself",
    "i appreciate it|i appreciate that|i really appreciate it|i see|i understand|indeed",
    "i know|i know right|i agree|i hear you|im good|im fine|im well|im great|im okay|im ok",
    "im doing well|im doing good|im doing great|im doing fine",
    "ja|joo",
    "k|kk|klar|kiitos|kylla",
    "lol|lmao|likewise|lo siento",
    "many thanks|much appreciated|my pleasure|makes sense|mm|mhm|mmhm|me too|me neither",
    "my bad|my goodness|merci|merci beaucoup|muchas gracias|mange tak",
    "no problem|no problem at all|no worries|np|not at all|no|nope|nah|nice|nice job",
    "nice work|no way|never mind|nevermind|nvm|not bad|not too bad|nein|non|nao|nee|nej|nei",
    "of course|ok|okay|okie|okey|oki|oh|ooh|omg|oops|oh my god|oh my gosh|oh my|oh dear|oui",
    "obrigado|obrigada",
    "perfect|phew|pardon|please|pretty good|perdon|prego|prima",
    "right|roger|rofl",
    "sure|sure thing|sounds good|sounds great|sounds like a plan|sounds perfect|same here",
    "same|so true|sorry|sorry to hear that|sorry about that|so cool|so nice|super|stimmt|si",
    "scusa|sim",
    "thanks|thank you|thank u|thx|thanx|ty|tysm|thanks a lot|thanks a bunch|thanks a million",
    "thanks so much|thanks again|thank you so much|thank you very much|thank you again",
    "thanks for asking|thanks for listening|thanks for sharing|that makes sense",
    "that sounds good|that sounds great|totally|true|thats great|that is great|thats awesome",
    "that is awesome|thats cool|that is cool|thats nice|that is nice|thats amazing",
    "that is amazing|thats wonderful|that is wonderful|thats good|that is good",
    "thats good to hear|toll|tack|tack sa mycket|tak|takk|tusen takk|terima kasih",
    "tesekkurler",
    "understood|uh|um|uh huh|ugh",
    "very true|vielen dank|vale|va bene",
    "welcome|wow|woah|whoa|woohoo|well done|way to go|what about you",
    "you are welcome|youre welcome|your welcome|yes|yeah|yep|yup|ya|yea|yess|yay|you too",
    "you as well|you know|you bet|you got it",
    "ευχαριστω|ναι|οχι",
    "большое спасибо|пожалуйста|да|нет|ладно|понятно|конечно",
    "спасибо|спасибо большое|хорошо",
    "תודה|כן|לא",
    "شكرا|شكرا جزيلا",
    "نعم|لا",
    "धन्यवाद",
};
static const struct phrase_list spaced[] = {LIST(PHRASE_GREETING, spaced_greetings),
                                            LIST(PHRASE_FAREWELL, spaced_farewells),
                                            LIST(PHRASE_FILLER, spaced_fillers)};

/* Phrases of scripts that do not: a run must be made of them entirely. The bytes in hexadecimal are
 * the Korean laughs, which the fold turns into conjoining letters. */
static const char *const unspaced_greetings[] = {
    "สวัสดี",
    "こんにちは|こんばんは|おはよう|おはようございます|お久しぶりです|お久しぶり|はじめまして",
    "もしもし|やあ",
    "你好|你们好|你們好|上午好|中午好|下午好|你好吗|你好嗎|久しぶり",
    "大家好|嗨|哈喽|哈囉|好久不见|好久不見",
    "您好|早|早安|早上好|晚上好|最近怎么样|最近怎麼樣|最近好吗",
    "반가워|반가워요|반갑습니다",
    "안녕|안녕하세요|안녕하십니까|오랜만이에요|오랜만이야",
};
static const char *const unspaced_farewells[] = {
    "ลาก่อน",
    "さようなら|さよなら|またね|また明日|じゃあね|じゃあまた|バイバイ|おやすみ|おやすみなさい",
    "下次见|下次見|保重",
    "再见|再見|回头见|回頭見",
    "拜拜|晚安|明天见|明天見|気をつけて",
    "가세요|계세요",
    "또봐|또봐요",
    "안녕히가세요|안녕히계세요|안녕히|잘자|잘가",
};
static const char *const unspaced_fillers[] = {
    "ขอบคุณ|ครับ|ค่ะ|คะ|โอเค|ใช่|ไม่เป็นไร",
    "\xe1\x84\x8f|\xe1\x84\x92",
    "ありがとう|ありがとうございます|ありがとうございました|どうも|どういたしまして|はい|いいえ",
    "うん|ええ|そう|そうですね|そうですか|そうだね|なるほど|わかりました",
    "わかった|すみません|ごめん|ごめんなさい|もちろん|お疲れ様です|お疲れ様でした|お疲れ様",
    "よろしく|よろしくお願いします|です|ね|よ",
    "不客气|不客氣|不用谢|不用謝|了解|不好意思|了|了解です",
    "多谢|多謝|好的|好|好吧|好啊|嗯|对|對|对的|對的|哈哈|哈哈哈|对不起|對不起|当然|太好了|哦|喔|啊",
    "呀|吗|嗎|呢|吧|哇|分かりました",
    "感谢|感謝|没关系|沒關係|没事|沒事|是|是的|明白|明白了|收到|抱歉|没问题|沒問題",
    "知道了|當然|真棒",
    "谢谢|謝謝|谢谢你|謝謝你|谢谢您|謝謝您|行",
    "非常感谢|非常感謝",
    "감사합니다|감사해요|고마워|고마워요|고맙습니다|그래|그래요",
    "네|넵|미안|미안해|미안해요",
    "예|응|아니요|아니|알겠습니다|알겠어요|알았어|알았어요|좋아|좋아요|죄송합니다|천만에요",
};
static const struct phrase_list unspaced[] = {LIST(PHRASE_GREETING, unspaced_greetings),
                                              LIST(PHRASE_FAREWELL, unspaced_farewells),
                                              LIST(PHRASE_FILLER, unspaced_fillers)};

/* Allowed beside a phrase, but no small talk by themselves. */
static const char *const oil_words[] = {
    "and|am|are|a|again|all|also",
    "but|both|buddy|bro|back",
    "dear|dude|do|did",
    "everyone|everybody",
    "for|friend|folks",
    "guys|girl",
    "here|honey|hun",
    "i|im|it|its|is",
    "just",
    "lets|love",
    "much|my|me|my friend|man|maam|mate",
    "now",
    "of",
    "pal",
    "really",
    "so|sir|shall",
    "to|then|the|that|thats|this|too|there|team",
    "u|us",
    "very",
    "well|we|with|will",
    "xo|xoxo|x",
    "you|youre|ya|your",
};
static const struct phrase_list oil = LIST(PHRASE_FILLER, oil_words);

struct word {
    char text[WORD_BYTES];
    size_t len;
    bool unspaced;
};

/* The words of a sentence, read as they are asked for: mostly the first tells enough. */
struct words {
    struct str text;
    size_t next; /* first byte not read */
    struct word at[WORDS_MAX];
    size_t n;
    bool content; /* a number, a word too long or too many words: nothing more is read */
};

/* Letters drawn out three times or more stand once: "heyyy", "sooo". */
static size_t undrawn(char *text, size_t n)
{
    size_t len = 0;
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && text[end] == text[i])
            end++;
        bool letter = text[i] >= 'a' && text[i] <= 'z';
        size_t keep = letter && end - i > 2 ? 1 : end - i;
        for (size_t k = 0; k < keep; k++)
            text[len + k] = text[i];
        len += keep;
        i = end;
    }
    return len;
}

static void words_add(struct words *words, struct str raw, bool is_unspaced)
{
    char folded[RUNE_FOLD_MAX];
    size_t n = raw.len <= RUNE_FOLD_MAX / 2 ? rune_fold(raw, RUNE_STRIP, folded, sizeof folded) : 0;
    size_t len = 0;
    for (size_t i = 0; i < n; i++)
        if (folded[i] != '\'')
            folded[len++] = folded[i];
    len = undrawn(folded, len);
    if (len == 0 || len > WORD_BYTES || words->n == WORDS_MAX) {
        words->content = true;
        return;
    }
    struct word *word = &words->at[words->n++];
    memcpy(word->text, folded, len);
    word->len = len;
    word->unspaced = is_unspaced;
}

static bool goes_on(struct str s, size_t i, enum rune_class first, unsigned *len)
{
    struct rune r = rune_at(s, i);
    *len = r.len;
    if (r.len == 0)
        return false;
    enum rune_class class = rune_class(r.cp);
    unsigned next;
    if (rune_is_apostrophe(r.cp) && first == RUNE_LETTER && i + r.len < s.len)
        return goes_on(s, i + r.len, RUNE_OTHER, &next) || class == RUNE_LETTER;
    if (first == RUNE_OTHER)
        return class == RUNE_LETTER;
    return class == first || class == RUNE_MARK || class == RUNE_IGNORED;
}

static void words_of(struct str text, struct words *words)
{
    words->text = text;
    words->next = 0;
    words->n = 0;
    words->content = false;
}

/* Reads on until there are so many words or the text ends; whether there are. */
static bool words_reach(struct words *words, size_t n)
{
    struct str s = words->text;
    size_t i = words->next;
    while (words->n < n && i < s.len && !words->content) {
        struct rune r = rune_at(s, i);
        enum rune_class class = r.len == 0 ? RUNE_OTHER : rune_class(r.cp);
        if (class == RUNE_DIGIT || class == RUNE_CURRENCY)
            words->content = true;
        if (class != RUNE_LETTER && class != RUNE_BIGRAM) {
            i += r.len == 0 ? 1 : r.len;
            continue;
        }
        size_t from = i;
        unsigned len = r.len;
        do
            i += len;
        while (goes_on(s, i, class, &len));
        words_add(words, str_part(s, from, i), class == RUNE_BIGRAM);
    }
    words->next = i;
    return words->n >= n;
}

static struct str word_str(const struct words *words, size_t i)
{
    return (struct str){words->at[i].text, words->at[i].len};
}

static bool phrase_next(const char **group, struct str *phrase)
{
    size_t n = 0;
    while ((*group)[n] != '|' && (*group)[n] != '\0')
        n++;
    *phrase = (struct str){*group, n};
    *group += n + ((*group)[n] == '|');
    return n != 0;
}

/* How many words from `i` on are exactly the phrase; 0: they are not. */
static size_t matched(struct words *words, size_t i, struct str phrase)
{
    size_t first = i;
    while (phrase.len != 0) {
        size_t n = str_index(phrase, ' ');
        if (!words_reach(words, i + 1) || !str_eq(word_str(words, i), str_part(phrase, 0, n)))
            return 0;
        phrase = str_part(phrase, n + 1, phrase.len);
        i++;
    }
    return i - first;
}

/* The first group whose phrases begin with the byte or a later one. */
static size_t group_of(const struct phrase_list *list, char first)
{
    size_t low = 0, high = list->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        DASSERT(middle == 0 || (unsigned char)list->groups[middle - 1][0] <=
                                   (unsigned char)list->groups[middle][0]);
        if ((unsigned char)list->groups[middle][0] < (unsigned char)first)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t longest_in(struct words *words, size_t i, const struct phrase_list *list)
{
    size_t best = 0;
    char first = words->at[i].text[0];
    for (size_t k = group_of(list, first); k < list->n && list->groups[k][0] == first; k++) {
        const char *group = list->groups[k];
        struct str phrase;
        while (phrase_next(&group, &phrase)) {
            size_t n = matched(words, i, phrase);
            if (n > best)
                best = n;
        }
    }
    return best;
}

static size_t longest_spaced(struct words *words, size_t i, enum phrase_kind *kind)
{
    size_t best = 0;
    for (size_t k = 0; k < sizeof spaced / sizeof spaced[0]; k++) {
        size_t n = longest_in(words, i, &spaced[k]);
        if (n > best) {
            best = n;
            *kind = spaced[k].kind;
        }
    }
    return best;
}

/* Bytes of the longest phrase of the list that `run`, which is not empty, begins with. */
static size_t prefix_in(struct str run, const struct phrase_list *list)
{
    size_t best = 0;
    char first = run.at[0];
    for (size_t k = group_of(list, first); k < list->n && list->groups[k][0] == first; k++) {
        const char *group = list->groups[k];
        struct str phrase;
        while (phrase_next(&group, &phrase))
            if (phrase.len > best && str_starts(run, phrase))
                best = phrase.len;
    }
    return best;
}

static size_t longest_prefix(struct str run, enum phrase_kind *kind)
{
    size_t best = 0;
    for (size_t k = 0; k < sizeof unspaced / sizeof unspaced[0]; k++) {
        size_t n = prefix_in(run, &unspaced[k]);
        if (n > best) {
            best = n;
            *kind = unspaced[k].kind;
        }
    }
    return best;
}

static bool is_all_phrases(struct str run)
{
    enum phrase_kind kind = PHRASE_FILLER;
    while (run.len != 0) {
        size_t n = longest_prefix(run, &kind);
        if (n == 0)
            return false;
        run = str_part(run, n, run.len);
    }
    return true;
}

/* haha, hehe, jajaja, ahaha. */
static bool is_laugh(struct str word)
{
    bool h = false, vowel = false;
    for (size_t i = 0; i < word.len; i++) {
        bool is_h = word.at[i] == 'h' || word.at[i] == 'j';
        bool is_vowel = word.at[i] == 'a' || word.at[i] == 'e' || word.at[i] == 'i';
        if (!is_h && !is_vowel)
            return false;
        h = h || is_h;
        vowel = vowel || is_vowel;
    }
    return word.len >= 4 && h && vowel;
}

static bool is_name(struct str word, const struct str *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct words parts;
        words_of(names[i], &parts);
        for (size_t k = 0; words_reach(&parts, k + 1); k++)
            if (str_eq(word_str(&parts, k), word))
                return true;
    }
    return false;
}

bool sentence_is_phatic(struct str sentence, const struct str *names, size_t n)
{
    struct words words;
    bool talk = false;
    words_of(sentence, &words);
    for (size_t i = 0; words_reach(&words, i + 1) && !words.content;) {
        struct str word = word_str(&words, i);
        enum phrase_kind kind = PHRASE_FILLER;
        size_t len = words.at[i].unspaced ? (is_all_phrases(word) ? 1u : 0u)
                                          : longest_spaced(&words, i, &kind);
        if (len == 0 && is_laugh(word))
            len = 1;
        talk = talk || len != 0;
        if (len == 0 && longest_in(&words, i, &oil) == 0 && !is_name(word, names, n))
            return false;
        i += len == 0 ? 1 : len;
    }
    return !words.content && (talk || words.n == 0);
}

/* A run that begins with a phrase; one character is one only when it is the whole run. */
static bool opens_run(struct str run, enum phrase_kind *kind)
{
    size_t n = longest_prefix(run, kind);
    return n > rune_at(run, 0).len || (n != 0 && n == run.len);
}

/* Whether a phrase of the kind stands at word `i`; `*len` gets its words. */
static bool has_phrase(struct words *words, size_t i, enum phrase_kind kind, size_t *len)
{
    enum phrase_kind found = PHRASE_FILLER;
    *len = words->at[i].unspaced ? opens_run(word_str(words, i), &found)
                                 : longest_spaced(words, i, &found);
    return *len != 0 && found == kind;
}

/* What may stand before a greeting: "so", "well", and small talk of other kinds. */
static bool leads_in(struct str word)
{
    return str_eq(word, STR("so")) || str_eq(word, STR("well")) || str_eq(word, STR("and")) ||
           str_eq(word, STR("but")) || str_eq(word, STR("also")) || str_eq(word, STR("then"));
}

bool sentence_is_greeting(struct str sentence)
{
    struct words words;
    words_of(sentence, &words); /* `content` says nothing here: an opening may go on */
    for (size_t i = 0; i < 3 && words_reach(&words, i + 1);) {
        size_t len = 0;
        if (has_phrase(&words, i, PHRASE_GREETING, &len))
            return true;
        if (len == 0 && !leads_in(word_str(&words, i)))
            return false;
        i += len == 0 ? 1 : len;
    }
    return false;
}

bool sentence_is_farewell(struct str sentence)
{
    struct words words;
    words_of(sentence, &words);
    if (words_reach(&words, FAREWELL_WORDS + 1))
        return false;
    for (size_t i = 0; i < words.n; i++) {
        size_t len = 0;
        bool found = has_phrase(&words, i, PHRASE_FAREWELL, &len);
        /* "later" and "so long" are farewells alone, not inside a sentence. */
        if (found && (len > 1 || words.n - len <= 2))
            return true;
    }
    return false;
}
