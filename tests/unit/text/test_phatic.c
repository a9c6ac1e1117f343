#include <check.h>

#include "core/text/sentence.h"

static bool is_phatic(const char *text)
{
    const struct str names[] = {STR("Caroline"), STR("Mel"), STR("José García")};
    return sentence_is_phatic(str_of(text), names, sizeof names / sizeof names[0]);
}

START_TEST(small_talk)
{
    static const char *const rows[] = {
        "",
        "!!!",
        "👍",
        "😊😊",
        "Hey Mel!",
        "Hey Caroline, good to see you!",
        "Hi José!",
        "hello garcia",
        "Heyyy",
        "Good morning",
        "How are you?",
        "Hey, how's it going?",
        "Long time no see!",
        "Thanks a lot!",
        "Thank you so much, Caroline!",
        "Thx!!!",
        "ok",
        "OK, sounds good!",
        "Okay, cool.",
        "lol",
        "hahaha",
        "Haha, that's great!",
        "Yes",
        "Yeah!",
        "No.",
        "No problem at all.",
        "You're welcome, Mel!",
        "Bye!",
        "Bye, take care!",
        "Talk to you soon!",
        "See you later, Caroline.",
        "Have a great day!",
        "Good luck!",
        "Congrats, Mel!",
        "Wow, awesome!",
        "I see.",
        "I'm good, thanks!",
        "Of course!",
        "So cool!",
        "Danke!",
        "Guten Morgen!",
        "Merci beaucoup",
        "¡Hola!",
        "Gracias.",
        "Obrigado!",
        "Grazie mille!",
        "Привет!",
        "Спасибо большое!",
        "谢谢",
        "谢谢！",
        "你好",
        "好的，谢谢你",
        "再见",
        "ありがとうございます",
        "こんにちは！",
        "はい、わかりました",
        "안녕하세요!",
        "감사합니다",
        "ㅋㅋㅋ",
        "مرحبا",
        "สวัสดีครับ",
        "ขอบคุณ",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(is_phatic(rows[i]), "%s", rows[i]);
}
END_TEST

START_TEST(content)
{
    static const char *const rows[] = {
        "I went to Paris.",
        "Caroline",
        "Thanks for the pottery bowl!",
        "ok 5",
        "Yes, 3 dogs.",
        "See you at the museum!",
        "Hey Mel, I moved to Boston.",
        "How are your kids?",
        "Bye, I'm off to Rome",
        "I love painting",
        "No, it is not",
        "It was really good",
        "Good morning sunshine coffee",
        "I did it",
        "$5",
        "Hey Tim!",
        "谢谢你的书",
        "我昨天去了北京",
        "ありがとう、本を読んだ",
        "안녕하세요 저는 의사입니다",
        "Danke für das Buch",
        "Привет из Москвы",
        "https://example.com",
        "hahahaxyz",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(!is_phatic(rows[i]), "%s", rows[i]);
    ck_assert(!sentence_is_phatic(STR("Hey Caroline!"), NULL, 0));
}
END_TEST

START_TEST(greetings)
{
    static const char *const yes[] = {
        "Hey Mel!",    "Hi, I moved to Boston", "Good morning", "Long time no see!", "So, hello",
        "你好！",      "你好，我想问",          "こんにちは",   "안녕하세요 저는",   "Hola amigo",
        "How are you?"};
    static const char *const no[] = {
        "",         "I said hello to him today", "The hi-fi is broken", "Bye!", "Thanks!",
        "早点回家", "We met in the morning"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        ck_assert_msg(sentence_is_greeting(str_of(yes[i])), "%s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        ck_assert_msg(!sentence_is_greeting(str_of(no[i])), "%s", no[i]);
}
END_TEST

START_TEST(farewells)
{
    static const char *const yes[] = {"Bye!",
                                      "bye Caroline",
                                      "Talk to you soon!",
                                      "Take care, Mel!",
                                      "Ok, see you later!",
                                      "Have a great weekend!",
                                      "再见",
                                      "またね",
                                      "Tschüss!",
                                      "Au revoir",
                                      "Later!",
                                      "До свидания!"};
    static const char *const no[] = {"",
                                     "Hey!",
                                     "I told her bye because I was late for the bus",
                                     "We did it later that day",
                                     "Thanks!",
                                     "I take the bus to work"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        ck_assert_msg(sentence_is_farewell(str_of(yes[i])), "%s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        ck_assert_msg(!sentence_is_farewell(str_of(no[i])), "%s", no[i]);
}
END_TEST

Suite *suite_phatic(void)
{
    Suite *suite = suite_create("phatic");
    TCase *tc = tcase_create("phatic");
    tcase_add_test(tc, small_talk);
    tcase_add_test(tc, content);
    tcase_add_test(tc, greetings);
    tcase_add_test(tc, farewells);
    suite_add_tcase(suite, tc);
    return suite;
}
