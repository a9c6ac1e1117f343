"""Text of all kinds is stored and found: by its own words in a query, right after the POST and once
it has become facts (issue 2, Text)."""
import re

import harness

# What is said, and queries that have to find it.
ENGLISH = (
    ("number", "The locker code is 48213 and the flat is number 12b.", ("48213", "12b",
                                                                       "locker code")),
    ("time", "The train leaves at 7:45 from platform 9.", ("7:45", "platform 9", "train leaves")),
    ("date", "The contract was signed on 2023-05-07 in Vienna.", ("2023-05-07", "7 May 2023",
                                                                  "May 2023", "signed contract")),
    ("yesterday", "Yesterday I planted an apple tree.", ("2023-05-07", "apple tree", "7 May")),
    ("km", "She ran 15km before breakfast.", ("15km", "15 km", "running before breakfast")),
    ("dollar", "The lamp cost $200 at the flea market.", ("$200", "200", "lamp cost")),
    ("covid", "He caught covid-19 on the ferry.", ("covid-19", "covid", "COVID-19 ferry")),
    ("cpp", "Nadia writes C++ and C# for a living.", ("C++", "C#", "Nadia")),
    ("email", "Write to jane.doe@example.org about the keys.", ("jane.doe@example.org", "jane.doe",
                                                                "keys")),
    ("url", "The recipe is at https://cook.example/pies/42.", ("cook.example", "recipe",
                                                              "https://cook.example/pies/42")),
    ("emoji", "The surprise for grandma is 🎸 and 🎂.", ("🎸", "🎂", "surprise grandma")),
    ("flag", "Her new team wears 🏳️‍🌈 badges.", ("🏳️‍🌈", "badges")),
    ("accent", "We met at the café in São Paulo.", ("cafe", "café", "Sao Paulo", "CAFÉ")),
    ("stem", "My neighbours are renovating their kitchens.", ("neighbour", "renovate kitchen",
                                                             "renovation")),
    ("apostrophe", "Don't forget Melanie's violin recital.", ("Melanie violin", "Melanie’s recital",
                                                             "recitals")),
    ("hyphen", "The well-known e-bike was a hand-me-down.", ("well-known", "e-bike",
                                                            "hand-me-down")),
    ("fullwidth", "The ticket says ＡＢＣ１２３.", ("ABC123", "abc123")),
    ("decomposed", "The nai\u0308ve plan failed.", ("naïve", "naive plan")),
)

OTHER = (
    ("de", "german", "Das Müllfahrzeug blockierte die Straße vor dem Rathaus.",
     ("Müllfahrzeug", "Mullfahrzeug", "Straße", "strasse", "Rathaus")),
    ("zh", "chinese", "我昨天在上海的博物馆看了一幅画。", ("上海", "博物馆", "画")),
    ("ja", "japanese", "週末に京都で抹茶アイスを食べました。", ("京都", "抹茶アイス", "週末")),
    ("ko", "korean", "부산에서 친구와 해산물을 먹었어요.", ("부산", "해산물", "친구")),
    ("th", "thai", "เมื่อวานฉันไปตลาดน้ำกับแม่", ("ตลาดน้ำ", "แม่")),
    ("ar", "arabic", "زرت المكتبة الوطنية في القاهرة أمس.", ("المكتبة", "القاهرة")),
    ("ru", "russian", "Мы купили новую лодку на озере.", ("лодку", "лодка", "озере")),
    ("el", "greek", "Η Ελένη αγόρασε ένα ποδήλατο.", ("ποδήλατο", "Ελένη")),
    ("hi", "hindi", "मेरी बहन ने दिल्ली में नई किताब खरीदी।", ("दिल्ली", "किताब")),
    ("fr", "french", "Elle a adopté un chaton à Marseille.", ("chaton", "adopter", "Marseille")),
)


class Text(harness.DaemonTest):
    def find(self, space, q, turn):
        got = self.client.get("/v1/spaces/%s/query" % space, q=q, facts=200, max_tokens=8000
                              ).expect(200)
        ids = [t for fact in got["facts"] for t in fact["turn_ids"]]
        ids += [recent["id"] for recent in got["recent"]]
        self.assertIn(turn, ids, "%r does not find %s" % (q, turn))
        self.assertIn(turn, got["context"]["turn_ids"])
        return ids

    def first(self, space, q, turn):
        ids = self.find(space, q, turn)
        self.assertEqual(ids[0], turn, "%r finds %s before %s" % (q, ids[0], turn))

    def test_english(self):
        self.client.post("/v1/spaces/en/turns", {"turns": [
            {"id": name, "text": text, "speaker": "Ann", "session": name,
             "timestamp": "2023-05-08T12:00:00Z"} for name, text, _ in ENGLISH]}).expect(202)
        for name, _, queries in ENGLISH:
            for q in queries:
                with self.subTest(when="recent", q=q):
                    self.find("en", q, name)
        self.client.settle("en")
        for name, _, queries in ENGLISH:
            for q in queries:
                with self.subTest(when="settled", q=q):
                    self.find("en", q, name)
            with self.subTest(when="first", q=queries[0]):
                if name not in ("date", "yesterday"):
                    self.first("en", queries[0], name)

    def test_each_language_in_its_own_space(self):
        known = {"de": "de", "ar": "ar", "ru": "ru", "el": "el", "hi": "hi", "fr": "fr"}
        for code, name, text, queries in OTHER:
            space = "own-" + code
            self.client.put("/v1/spaces/" + space, {"language": known.get(code, "auto")}
                            ).expect(201)
            self.client.post("/v1/spaces/%s/turns" % space, {"turns": [
                {"id": name, "text": text, "speaker": "Ann"},
                {"id": "other", "text": "1234567890", "speaker": "Bob"}]}).expect(202)
            self.client.settle(space)
            for q in queries:
                with self.subTest(language=code, q=q):
                    self.first(space, q, name)

    def test_all_languages_in_one_english_space(self):
        self.client.post("/v1/spaces/mixed/turns", {"turns": [
            {"id": name, "text": text, "speaker": "Ann", "session": name}
            for _, name, text, _ in OTHER]}).expect(202)
        self.client.settle("mixed")
        for _, name, text, queries in OTHER:
            with self.subTest(language=name):
                self.first("mixed", queries[0], name)
                turn = self.client.get("/v1/spaces/mixed/turns/" + name).expect(200)
                self.assertEqual(turn["text"], text)

    def test_auto_language(self):
        self.client.put("/v1/spaces/auto", {"language": "auto"}).expect(201)
        self.client.post("/v1/spaces/auto/turns", {"turns": [
            {"id": name, "text": text, "speaker": "Ann", "session": name}
            for _, name, text, _ in OTHER]}).expect(202)
        self.client.settle("auto")
        for _, name, _, queries in OTHER:
            with self.subTest(language=name):
                self.first("auto", queries[0], name)

    def test_facts_keep_the_words(self):
        texts = [text for _, _, text, _ in OTHER]
        self.client.post("/v1/spaces/facts/turns", {"turns": [
            {"text": text, "speaker": "Ann"} for text in texts]}).expect(202)
        self.client.settle("facts")
        facts = self.client.get("/v1/spaces/facts/facts", limit=1000).expect(200)["facts"]
        # A relative date is followed by what it resolves to, in brackets.
        contents = re.sub(r" ?\([^)]*\)", "", "\n".join(fact["content"] for fact in facts))
        for text in texts:
            self.assertIn(text.rstrip(".。।"), contents)

    def test_a_haystack_of_a_megabyte(self):
        text = "The weather was fine and we talked about nothing in particular. " * 8000
        text += "By the way, the spare key hangs behind the xanthic mirror. "
        text += "The weather was fine again. " * 8000
        self.assertLess(len(text), 1 << 20)
        self.client.post("/v1/spaces/hay/turns", {"id": "hay", "text": text}).expect(202)
        for _ in range(2):
            got = self.client.get("/v1/spaces/hay/query", q="spare key xanthic mirror").expect(200)
            self.assertIn("xanthic", got["context"]["text"])
            self.client.settle("hay")

    def test_half_a_million_sentences_in_a_turn(self):
        """None of them may use up a stage's memory: nothing behind it would ever be processed."""
        for i, line in enumerate(("x\n", "i. ", "我。")):
            text = line * ((1 << 20) // len(line.encode("utf-8")))
            space = "lines%d" % i
            self.client.post("/v1/spaces/%s/turns" % space, {"turns": [
                {"text": text}, {"text": "We met at the xanthic mirror."}]}).expect(202)
            self.client.settle(space)
            facts = self.client.get("/v1/spaces/%s/facts" % space, limit=1000).expect(200)["facts"]
            self.assertIn("xanthic", " ".join(fact["content"] for fact in facts))
