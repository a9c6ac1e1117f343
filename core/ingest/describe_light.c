#include "core/ingest/describe_light.h"

enum { WORD_MAX = 16 };

/* Words and their stems, by first letter, separated by blanks. */
static const char *const light['z' - 'a' + 1] = {
    ['a' - 'a'] = "absolut absolutely actual actually afternoon ago ah almost along alreadi "
                  "already also although alway always amaz amazing anybodi anybody anyon anyone "
                  "anyth anything anyway apr april around ask asked asking asks aug august autumn "
                  "away awesom awesome",
    ['b' - 'a'] = "back bad becam became becom become believ believe best better big bit bring "
                  "brought bye",
    ['c' - 'a'] = "call called came come comes coming congrat congrats congratul congratulations "
                  "cool coupl couple",
    ['d' - 'a'] = "daili daily day days dear dec decemb december definit definitely dozen dr",
    ['e' - 'a'] = "earli early eight eighteen eighti eighty eleven els else end enough especi "
                  "especially even evening ever everybodi everybody everyon everyone everyth "
                  "everything exact exactly excit excited exciting",
    ['f' - 'a'] = "fantast fantastic feb februari february feel feeling feels felt fifteen fifth "
                  "fifti fifty find fine first five forev forever forget forti forty found four "
                  "fourteen fourth frau fri friday full fun",
    ['g' - 'a'] = "gave get gets getting give given gives giving glad go goe goes going gone gonna "
                  "good goodby goodbye got gotta gotten great guess guy guys",
    ['h' - 'a'] = "ha haha half happen happened happens happi happy hear heard hello help helped "
                  "helps herr hey hi high hope hoped hopes hour hours howev however hundr hundred",
    ['i' - 'a'] = "imag image instead interest interesting",
    ['j' - 'a'] = "jan januari january jul juli july jun june just",
    ['k' - 'a'] = "keep keeping keeps kept kind knew know knowing known knows",
    ['l' - 'a'] = "last late lately later least leav leave left less let lets like liked likes "
                  "littl little long look looked looking looks lot lots love loved lovely loves "
                  "low",
    ['m' - 'a'] = "madam madame made make makes making mani many mar march may mayb maybe mean "
                  "means meant midnight million minut minute minutes miss mme moment mon monday "
                  "monsieur month months morn morning mr mrs ms much",
    ['n' - 'a'] = "need needed needs never new next nice night nine nineteen nineti ninety no "
                  "nobodi nobody noon nope noth nothing nov novemb november now",
    ['o' - 'a'] = "oct octob october often oh ok okay old onc once one",
    ['p' - 'a'] = "pair part peopl people perhap perhaps person photo pictur picture place pleas "
                  "please pretti pretty previous probabl probably prof put puts putting",
    ['q' - 'a'] = "quarter quit quite",
    ['r' - 'a'] = "rather real realli really recent recently rememb remember right round",
    ['s' - 'a'] = "said sat saturday saw say saying says second see seeing seem seems seen sees "
                  "senor senora sep sept septemb september seven seventeen seventi seventy sever "
                  "several share shared shares sharing short show shows signor signora sinc since "
                  "sir six sixteen sixti sixty small somebodi somebody someon someone someth "
                  "something sometim sometimes soon sorri sorry sort sound sounds speak spring sr "
                  "sra start started still stop stopped stuff summer sun sunday sure",
    ['t' - 'a'] = "take taken takes taking talk talked talking talks tell telling tells ten thank "
                  "thanks thing things think thinking thinks third thirteen thirti thirty though "
                  "thought thousand three thu thur thurs thursday time times today togeth together "
                  "told tomorrow tonight too took total totally tri tried tries try trying tue "
                  "tues tuesday turn turned twelv twelve twenti twenty twice two",
    ['u' - 'a'] = "us use used usual usually",
    ['w' - 'a'] = "wait wanna want wanted wants way ways wed wednesday week weekend weekly weeks "
                  "welcom welcome well went whole winter within without wonder wonderful wors "
                  "worse worst wow wrong",
    ['y' - 'a'] = "yeah year years yep yes yesterday yet yup",
    ['z' - 'a'] = "zero",
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A count, a day or a year. */
static bool is_plain_number(struct str word)
{
    for (size_t i = 0; i < word.len; i++) {
        if (!is_digit(word.at[i]))
            return false;
    }
    bool year = word.len == 4 && (str_starts(word, STR("19")) || str_starts(word, STR("20")));
    return word.len <= 2 || year;
}

/* `list` has its words separated by single blanks. */
static bool is_listed(struct str word, const char *list)
{
    while (list != NULL) {
        size_t same = 0;
        while (same < word.len && list[same] == word.at[same])
            same++;
        if (same == word.len && (list[same] == ' ' || list[same] == '\0'))
            return true;
        list = strchr(list, ' ');
        if (list != NULL)
            list++;
    }
    return false;
}

bool light_word_is(struct str word)
{
    char lower[WORD_MAX];
    if (word.len < 2 || is_plain_number(word))
        return true;
    if (word.len > WORD_MAX)
        return false;
    for (size_t i = 0; i < word.len; i++)
        lower[i] = (char)(word.at[i] >= 'A' && word.at[i] <= 'Z' ? word.at[i] | 0x20 : word.at[i]);
    return lower[0] >= 'a' && lower[0] <= 'z' &&
           is_listed((struct str){lower, word.len}, light[lower[0] - 'a']);
}
