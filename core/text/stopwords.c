/* Function words of each language, from its grammar: articles, pronouns, prepositions, auxiliaries,
 * conjunctions, question words, negations; in English also contractions as they are typed without
 * the apostrophe, unless that is another word ("shed", "well"). "may" is left out (a month). */
#include "core/text/language.h"

struct stop_list {
    char code[3];
    const char *words;
};

static const struct stop_list lists[] = {
    {"en",
     "a an the "
     "i me my mine myself we us our ours ourselves you your yours yourself yourselves "
     "he him his himself she her hers herself it its itself they them their theirs themselves "
     "this that these those there here "
     "who whom whose which what when where why how "
     "am is are was were be been being have has had having do does did doing done "
     "will would shall should can could might must ought "
     "and or but nor so yet if then else because as until while though although than "
     "of at by for with about against between into through during before after above below "
     "to from up down in out on off over under upon within without onto toward towards via "
     "again further once only just also too very really quite rather even still ever "
     "all any both each few more most other others some such own same every either neither "
     "not no don now already "
     "im ive youre youve youll theyre theyve theyll weve hes shes thats whats whos wheres "
     "whens hows lets theres heres itll itd thatll "
     "dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt wont wouldnt cant cannot "
     "couldnt shouldnt mustnt mightnt neednt aint gonna wanna gotta"},
    {"de", "der die das den dem des ein eine einen einem einer eines kein keine keinen keinem "
           "ich mich mir mein meine meinen meinem meiner du dich dir dein deine deinen deinem "
           "er ihn ihm sein seine seinen seinem seiner sie ihr ihre ihren ihrem es wir uns unser "
           "unsere euch euer man sich selbst dies diese dieser dieses diesen diesem jene jener "
           "wer was wann wo warum wie welche welcher welches wem wen wessen "
           "bin bist ist sind seid war waren warst wäre gewesen habe hast hat haben hatte "
           "hatten werde wirst wird werden wurde wurden worden kann können konnte muss müssen soll "
           "sollte will wollte möchte darf "
           "und oder aber denn weil dass wenn ob als also doch noch nur schon sehr so zu auch "
           "an auf aus bei bis durch für gegen hinter in im ins ohne über um unter von vom vor "
           "mit nach neben seit zum zur zwischen am beim "
           "nicht nichts hier da dort dann nun jetzt hin her ja nein mal"},
    {"fr", "le la les l un une des du de d au aux ce cet cette ces "
           "je j me m moi mon ma mes tu te t toi ton ta tes il elle on se s soi son sa ses nous "
           "notre nos vous votre vos ils elles eux leur leurs lui y en c ça cela ceci "
           "qui que qu quoi dont où quand comment pourquoi quel quelle quels quelles "
           "suis es est sommes êtes sont été être étais était étaient étions sera serait ai as a "
           "avons avez ont eu avoir avais avait avaient aura aurait fait faire peut "
           "et ou mais donc or ni car si comme lorsque puisque parce alors "
           "à dans par pour sur sous avec sans entre vers chez depuis pendant avant après "
           "ne n pas plus très aussi encore déjà même tout tous toute toutes rien "
           "jusqu lorsqu puisqu quelqu aujourd oui non"},
    {"es",
     "el la los las lo un una unos unas al del "
     "yo me mi mí mis tú te ti tu tus él ella ello se sí su sus nosotros nosotras nos "
     "nuestro nuestra nuestros nuestras vosotros os vuestro vuestra ellos ellas les le "
     "usted ustedes este esta estos estas ese esa esos esas esto eso aquel aquella "
     "que qué quien quién quienes cual cuál cuando cuándo donde dónde como cómo cuanto cuánto "
     "soy eres es somos son era eran fue fueron ser sido estoy está estás están estamos "
     "estaba estar he has ha hemos han había haber hay tengo tiene tienen "
     "y e o u pero sino si porque pues aunque mientras "
     "a ante bajo con contra de desde en entre hacia hasta para por según sin sobre tras "
     "no ni ya muy más menos también tampoco todo toda todos todas otro otra algo nada"},
    {"it", "il lo la l i gli le un uno una del dello della dei degli delle dell al allo alla ai "
           "agli alle all dal dallo dalla dai dagli dalle dall nel nello nella nei negli nelle "
           "nell sul sullo sulla sui sugli sulle sull "
           "io mi me mio mia miei mie tu ti te tuo tua tuoi tue lui lei sé si suo sua suoi sue noi "
           "ci nostro nostra nostri voi vi vostro vostra loro li ne questo questa questi queste "
           "quello quella quelli quelle quest quell "
           "chi che cosa quando dove come perché quale quali quanto quanta "
           "sono sei è siamo siete era erano ero stato stata essere ho hai ha abbiamo avete hanno "
           "aveva avevo avere "
           "e ed o ma se anche però quindi mentre "
           "a ad di d da in con su per tra fra senza fino verso "
           "non più molto già ancora tutto tutti tutta c s po sì no"},
    {"pt", "o a os as um uma uns umas do da dos das no na nos nas ao à aos às pelo pela pelos "
           "pelas num numa dum duma "
           "eu me mim meu minha meus minhas tu te ti teu tua teus tuas ele ela se si seu sua seus "
           "suas nós nosso nossa nossos vós vos eles elas lhe lhes você vocês "
           "este esta estes estas esse essa esses essas isto isso aquele aquela aquilo "
           "que quem qual quais quando onde como porque quanto "
           "sou és é somos são era eram foi foram ser sido estou está estás estão estamos estava "
           "estar tenho tem têm tinha ter há havia haver "
           "e ou mas nem pois embora enquanto "
           "de em por para com sem sob sobre entre até desde contra "
           "não já muito mais menos também só tudo todo toda todos todas"},
    {"nl", "de het een "
           "ik me mij mijn jij je jou jouw u uw hij hem zijn zij ze haar wij we ons onze jullie "
           "hun hen zich die dat deze dit "
           "wie wat wanneer waar waarom hoe welk welke "
           "ben bent is was waren geweest heb hebt heeft hebben had hadden gehad word wordt "
           "worden werd werden kan kunnen kon moet moeten zal zullen zou wil "
           "en of maar want dus omdat als dan toen terwijl hoewel "
           "aan bij door in met na naar om onder op over te tegen tot tussen uit van voor zonder "
           "niet geen ook nog al wel er hier daar nu zo zeer alles iets niets ja nee"},
    {"ru", "и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по "
           "ее её мне было вот от меня еще ещё нет о об из ему когда даже ну ли если уже или ни "
           "быть был была были него до вас вам ведь там потом себя ей они тут где есть надо ней "
           "для мы тебя их чем сам чтоб чтобы без будто будет будем будут буду кто этот этого "
           "какой какая какие почему потому этом эти эта это этой этим мой моя мои мое моё моей "
           "твой твоя наш наша наши ваш свой свою своей про под над при через после перед "
           "между тоже также очень только лишь "
           "нас нам мной тобой нами вами им ими том тот та те который которая которые которое"},
    {"sv", "en ett den det de "
           "jag mig min mitt mina du dig din ditt dina han honom hans hon henne hennes vi oss vår "
           "vårt våra ni er era dem deras sig sin sitt sina man denna detta dessa "
           "vem vad när var varför hur vilken vilket vilka som "
           "är vara varit har hade ha haft blir blev bli kan kunde ska skulle vill måste "
           "och eller men för att om så då medan eftersom "
           "av i på till från med utan under över mellan efter före vid hos mot genom "
           "inte ej ingen inget inga också bara redan än mycket här där nu ja nej"},
    {"da",
     "en et den det de "
     "jeg mig min mit mine du dig din dit dine han ham hans hun hende hendes vi os vor vores "
     "i jer jeres dem deres sig sin sit sine man denne dette disse "
     "hvem hvad hvornår hvor hvorfor hvordan hvilken hvilket hvilke som der "
     "er var være været har havde have haft bliver blev blive kan kunne skal skulle vil ville "
     "må måtte "
     "og eller men for at om så da når mens fordi hvis "
     "af på til fra med uden under over mellem efter før ved hos mod gennem ad "
     "ikke ingen intet også kun allerede end meget her nu ja nej"},
    {"no", "en ei et den det de "
           "jeg meg min mitt mine du deg din ditt dine han ham hans hun henne hennes vi oss vår "
           "vårt våre dere deres dem seg sin sitt sine man denne dette disse "
           "hvem hva når hvor hvorfor hvordan hvilken hvilket hvilke som "
           "er var være vært har hadde ha hatt blir ble bli blitt kan kunne skal skulle vil ville "
           "må måtte "
           "og eller men for å at om så da mens fordi hvis "
           "av i på til fra med uten under over mellom etter før ved hos mot gjennom "
           "ikke ingen intet også bare allerede enn mye her der nå ja nei"},
    {"fi",
     "minä minun minua minut minulla minulle sinä sinun sinua sinut sinulla sinulle hän hänen "
     "häntä hänet hänellä hänelle me meidän meitä meillä meille te teidän teitä he heidän "
     "heitä heillä se sen sitä siinä siitä siihen sillä ne niiden niitä niissä "
     "tämä tämän tätä tässä tästä nämä näiden tuo tuon tuota nuo "
     "kuka kenen mikä minkä mitä missä mistä mihin milloin miksi miten kuinka joka jonka jota "
     "jossa jotka "
     "olen olet on olemme olette ovat oli olin olivat ole olla ollut "
     "ja tai vai mutta että jos kun koska vaikka sekä kuin niin "
     "en et ei emme ette eivät älä "
     "kanssa ilman ennen jälkeen yli alle myös vain jo vielä nyt sitten siellä täällä"},
};

const char *stopwords_of(const char *code)
{
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (strcmp(code, lists[i].code) == 0)
            return lists[i].words;
    return NULL;
}
