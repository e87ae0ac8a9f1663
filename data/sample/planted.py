"""The planted documents: each has one known defect (or none, on purpose), an id of its own, and its line in the key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import material
from material import digest, excerpt, interleaved, jaccard, nearest, sentences, shuffled, text

PERPLEXITY_ABOVE, PERPLEXITY_BELOW = "perplexity_above", "perplexity_below"


@dataclass(frozen=True)
class Planted:
    """One record of a planted file. `expect` is its entry in the key; `more` are further fields of the record."""

    id: str
    text: str
    expect: dict[str, Any]
    more: dict[str, Any] = field(default_factory=dict)


def dropped(stage: str, rule: str, **more: Any) -> dict[str, Any]:
    """The key's entry of a document that a stage drops."""
    return {"stage": stage, "rule": rule, **more}


def kept(**more: Any) -> dict[str, Any]:
    """The key's entry of a document that stays."""
    return {"kept": True, **more}


def near_copies() -> Iterator[Planted]:
    """Essays with words put in (dropped), and the beginnings of essays (kept), at about the Jaccard asked for."""
    for number, (language, essay, target, extra) in enumerate(
        [
            ("en", 9, 0.95, "perhaps"),
            ("en", 19, 0.91, "indeed"),
            ("en", 26, 0.86, "certainly"),
            ("en", 31, 0.7, ""),
            ("en", 37, 0.5, ""),
            ("zh", 12, 0.95, "也"),
            ("zh", 29, 0.87, "又"),
            ("zh", 32, 0.6, ""),
            ("en", 43, 0.78, ""),
        ],
        1,
    ):
        original = text(language, essay)
        if extra:
            variants = [interleaved(original.body, extra, count) for count in range(1, 13)]
        else:
            variants = [excerpt(original.body, share / 100) for share in range(30, 95)]
        copy = nearest(original.body, target, variants)
        exact = jaccard(original.body, copy)
        of = {"jaccard": exact, "twin": twin(language, original.id)}
        expect = dropped("minhash", "near_duplicate", **of) if exact >= 0.8 else kept(**of)
        yield Planted(f"planted-near-{number}-{language}", copy, expect)


def twin(language: str, essay: str) -> str:
    """How the key names an essay: English ones by their id, Chinese ones by their file."""
    return essay if language == "en" else f"{essay}.txt"


def exact_copies(language: str) -> Iterator[Planted]:
    """The texts of essays again, unchanged, in another source."""
    for essay in (14, 35) if language == "en" else (16,):
        original = text(language, essay)
        expect = dropped("exact_dedup", "exact_duplicate", jaccard=1.0, twin=twin(language, original.id))
        yield Planted(f"planted-exact-{essay}-{language}", original.body, expect)


def repeated_records() -> tuple[Planted, Planted]:
    """Two records: the first stands twice in one file and once in another, the second once in each."""
    first, second = digest("en", 150), digest("en", 151)
    return (
        Planted("planted-record-3-times", first.body, dropped("exact_dedup", "exact_duplicate", records=3, dropped=2)),
        Planted("planted-record-2-times", second.body, dropped("exact_dedup", "exact_duplicate", records=2, dropped=1)),
    )


def lengths() -> Iterator[Planted]:
    """Too few words, and words too short or too long; the text with too many words is `too_long`."""
    yield Planted("planted-too-short", sentences(text("en", 6).body)[0], dropped("gopher", "min_words"))
    short = "If I am to go up to it, so do we: he is at an inn, as am I, by the sea, and it is up to us to be on. "
    yield Planted("planted-short-words", short * 2, dropped("gopher", "min_mean_word_length"))
    long = [w for t in material.texts("en") for w in material.units(t.body) if len(w) >= 11]
    yield Planted("planted-long-words", " ".join(dict.fromkeys(long)) + ".", dropped("gopher", "max_mean_word_length"))


def too_long() -> Planted:
    """More than 100,000 words: all English sentences of the reference, over and over, each time in another order."""
    pool = [s for line in material.reference("en") for s in sentences(line)]
    rounds: list[str] = []
    words = 0
    while words <= 100_500:
        turn = shuffled(pool, 2 * len(rounds) + 3)
        rounds.append(" ".join(turn))
        words += sum(len(s.split()) for s in turn)
    return Planted("planted-too-long", "\n\n".join(rounds), dropped("gopher", "max_words"))


def symbols() -> Iterator[Planted]:
    """Hashes, dots, bullets and numbers where words should be; and words that no sentence holds together."""
    words = digest("en", 152).body.replace("\n\n", " ").split(" ")
    tagged = " ".join(f"#{w}" if i % 4 == 1 else w for i, w in enumerate(words))
    yield Planted("planted-hashes", tagged, dropped("gopher", "max_symbol_ratio"))
    words = digest("en", 153).body.replace("\n\n", " ").split(" ")
    trailing = " ".join(f"{w.rstrip('.,;')}..." if i % 5 == 2 else w for i, w in enumerate(words))
    yield Planted("planted-dots", trailing, dropped("gopher", "max_symbol_ratio"))
    bullets = "\n".join(f"- {s}" for s in sentences(digest("en", 154).body))
    yield Planted("planted-bullets", bullets, dropped("gopher", "max_bullet_lines"))
    found = [s for s in sentences(digest("en", 155).body) if len(s) > 70]
    lines = [s if i % 2 else s.rstrip(".") + "..." for i, s in enumerate(found)]
    yield Planted("planted-ellipsis-lines", "\n".join(lines), dropped("gopher", "max_ellipsis_lines"))
    table = [f"{1000 + 37 * i} {7 * i % 50}.{i % 10}{i % 7} {300 + 3 * i} {1100 + 11 * i}" for i in range(2, 40)]
    numbers = "\n".join(["These readings of the gauge were taken every hour and have to be checked.", *table])
    yield Planted("planted-numbers", numbers, dropped("gopher", "min_alpha_words"))
    yield Planted("planted-no-stop-words", " ".join(_content_words(156)) + ".", dropped("gopher", "min_stop_words"))


def _content_words(number: int) -> list[str]:
    """Words of some digests in their order, without those of four letters and fewer and those that Gopher counts."""
    words = material.units(" ".join(digest("en", number + k).body for k in range(2)))
    return [w for w in dict.fromkeys(words) if len(w) > 4][:140]


def repetition() -> Iterator[Planted]:
    """Boilerplate lines, paragraphs, and n-grams that come back inside one document."""
    spam = "Subscribe to our newsletter and be the first to know about the offers that we have for you."
    found = sentences(digest("en", 158).body)
    lines = "\n".join(line for s in found[:9] for line in (spam, s))
    yield Planted("planted-spam-lines", lines, dropped("gopher", "max_duplicate_lines"))
    paragraph = "Share this page with your friends and come back soon."
    found = sentences(digest("en", 160).body + " " + digest("en", 161).body)
    blocks = ["\n".join(found[4 * i : 4 * i + 4]) for i in range(6)]
    yield Planted(
        "planted-spam-paragraphs",
        "\n\n".join(f"{b}\n\n{paragraph}" for b in blocks),
        dropped("gopher", "max_duplicate_paragraphs"),
    )
    found = sentences(digest("en", 162).body)
    notice = " ".join(found[:4])
    body = "\n".join([notice, *found[4:12], notice])
    yield Planted("planted-long-repeat", body, dropped("gopher", "max_duplicate_line_characters"))
    stuffed = interleaved(text("en", 13).body.replace("\n\n", " "), "cheap flights", 40)
    yield Planted("planted-top-2gram", stuffed, dropped("gopher", "max_top_2gram"))
    phrase = "as everybody who has read this guide to the old town will certainly remember,"
    stuffed = interleaved(text("en", 23).body, phrase, 4)
    yield Planted("planted-duplicate-5gram", stuffed, dropped("gopher", "max_duplicate_5gram"))
    words = text("en", 40).body.split(" ")
    again = len(words) // 18  # 2 n words of N + n are about 10.5 %: above the limit for 10-grams, below that for 9
    repeated = " ".join([*words, *words[60 : 60 + again]]) + "."
    yield Planted("planted-duplicate-10gram", repeated, dropped("gopher", "max_duplicate_10gram"))


def perplexity() -> Iterator[Planted]:
    """Ordinary words in no order at all (above the band), and the reference's own sentences (below it)."""
    words = material.rare_words(lambda w: 4 <= len(w) <= 10)
    for number, stride in enumerate((611, 977), 1):
        row = shuffled(words, stride)[:180]
        mixed = " ".join(f"{w} {('and', 'of', 'with')[i // 30 % 3]}" if i % 30 == 9 else w for i, w in enumerate(row))
        yield Planted(f"planted-stuffed-{number}-en", mixed + ".", dropped("perplexity", PERPLEXITY_ABOVE))
    for number in range(1, 4):
        lines = material.reference("en")[number * 13 :: 31][:3]
        yield Planted(f"planted-chained-{number}-en", "\n\n".join(lines), dropped("perplexity", PERPLEXITY_BELOW))


def perplexity_zh() -> Iterator[Planted]:
    """The same two in Chinese."""
    characters = [c for t in material.texts("zh") for c in t.body if material.unspaced(c)]
    mixed = "".join(shuffled(list(dict.fromkeys(characters)), 379)[:240]) + "。"
    yield Planted("planted-stuffed-zh", mixed, dropped("perplexity", PERPLEXITY_ABOVE))
    lines = material.reference("zh")[5::37][:3]
    yield Planted("planted-chained-zh", "\n\n".join(lines), dropped("perplexity", PERPLEXITY_BELOW))


NOTES_EN: tuple[tuple[str, str, dict[str, int]], ...] = (
    (
        "email",
        "Questions about the workshop go to anna.berg@example.org or, after June, to help@mail.example.com.",
        {"<|email|>": 2},
    ),
    ("phone", "The office can be reached at +1 415-555-0132, and in the evening at (415) 555-0188.", {"<|phone|>": 2}),
    (
        "ssn",
        "The old form still asked for a social security number, and his copy showed 219-09-9999 in plain ink.",
        {"<|ssn|>": 1},
    ),
    ("card", "She had written her card number, 4111 1111 1111 1111, on the back of the envelope.", {"<|card|>": 1}),
    (
        "ip",
        "The catalogue was moved to the machine at 8.8.8.8, and the old one at 192.168.1.20 was switched off.",
        {"<|ip|>": 1},
    ),
    (
        "address",
        "Letters should be sent to 1200 Maple Street, Springfield, IL 62704, where somebody reads them on Fridays.",
        {"<|address|>": 1},
    ),
    (
        "mixed",
        "Write to orders@example.com, call +1 415-555-0147, or come to 48 Harbor Road, Portland, ME 04101.",
        {"<|email|>": 1, "<|phone|>": 1, "<|address|>": 1},
    ),
    (
        "none",
        "Version 10.4.2 of the list, ISBN 978-0-306-40615-7, was checked on 2021-03-04 at 12:45; pi is 3.1415926535.",
        {},
    ),
)
NOTES_ZH: tuple[tuple[str, str, dict[str, int]], ...] = (
    ("email", "有疑问请写信到li.ming@example.com，或者寄到fuwu@example.org。", {"<|email|>": 2}),
    ("id", "旧表格上还印着一个身份证号110101190001010014，后来用墨涂掉了。", {"<|cn_id|>": 1}),
    ("phone", "白天可以打电话13800138000，晚上没有人接。", {"<|phone|>": 1}),
    ("address", "样书请寄到江苏省南京市玄武区松林路88号3栋502室，门房会代收。", {"<|address|>": 1}),
)
"""Name, sentence, and how many placeholders of each kind it gives. All values are made up, and valid in form."""


def private() -> Iterator[Planted]:
    """Personal data in running text: every document is kept, every entity becomes a placeholder."""
    for number, (name, note, counts) in enumerate(NOTES_EN, 164):
        body = within(digest("en", number).paragraphs, note)
        yield Planted(f"planted-pii-{name}", body, kept(placeholders=counts))


def private_zh() -> Iterator[Planted]:
    """The same in Chinese, where no space parts the entity from the text."""
    for number, (name, note, counts) in enumerate(NOTES_ZH, 88):
        body = within(digest("zh", number).paragraphs, note)
        yield Planted(f"planted-pii-{name}-zh", body, kept(placeholders=counts))


def within(paragraphs: tuple[str, ...], note: str) -> str:
    """The paragraphs with the note at the end of the second."""
    space = "" if material.unspaced(note[0]) else " "
    return "\n\n".join(f"{p}{space}{note}" if i == 1 else p for i, p in enumerate(paragraphs))


GERMAN = (
    "Wer im Winter Brot backen will, sollte den Teig am Abend ansetzen und ihn über Nacht in einem kühlen Zimmer stehen"
    " lassen. Am nächsten Morgen ist er um die Hälfte größer geworden, und auf seiner Oberfläche zeigen sich kleine"
    " Blasen. Dann wird er auf einem bemehlten Brett gefaltet, zu einem runden Laib geformt und noch einmal für eine"
    " Stunde zugedeckt. Der Ofen muss sehr heiß sein, bevor das Brot hineinkommt, und eine Schale mit Wasser auf dem"
    " Boden sorgt für den Dampf, der die Kruste am Anfang weich hält. Nach vierzig Minuten klopft man auf die"
    " Unterseite: Klingt sie hohl, ist der Laib fertig."
)


def oddities() -> Iterator[Planted]:
    """Characters that break careless readers, text that looks like a control token, and another language."""
    yield Planted("planted-german", GERMAN, dropped("language", "language_not_kept"))
    yield Planted("planted-nul", digest("en", 172).body.replace(". ", ".\0 ", 2), kept(nuls=2))
    yield Planted("planted-surrogate", digest("en", 173).body + " \ud83d", kept(surrogates=1))
    yield Planted("planted-line-separator", digest("en", 174).body.replace("\n\n", "\u2028"), kept())
    yield Planted("planted-crlf", digest("en", 175).body.replace("\n", "\r\n"), kept())
    tokens = "A tool writes <|endoftext|> between two texts and <|email|> where an address stood; both are quoted here."
    expect = kept(placeholders={}, look_alikes={"<|endoftext|>": 1, "<|email|>": 1})
    yield Planted("planted-special-tokens", within(digest("en", 176).paragraphs, tokens), expect)


def junk_zh() -> Iterator[Planted]:
    """Too short, and lines that repeat, in Chinese."""
    yield Planted("planted-too-short-zh", "这里的内容还没有写完，过几天再来。", dropped("gopher", "min_words"))
    found = [s + "。" for s in digest("zh", 92).body.replace("\n\n", "").split("。") if s]
    spam = "扫描二维码关注我们，第一时间了解最新的优惠活动。"
    lines = "\n".join(line for s in found[:7] for line in (spam, s, spam))
    yield Planted("planted-spam-lines-zh", lines, dropped("gopher", "max_duplicate_lines"))


def licences() -> Iterator[Planted]:
    """Records that carry their licence themselves, or none; allowed are CC0-1.0, CC-BY-4.0 and MIT."""
    unknown, refused = dropped("license", "license_unknown"), dropped("license", "license_not_allowed")
    cases: list[tuple[str, str | None, dict[str, Any]]] = [
        ("either", "GPL-3.0-only OR CC0-1.0", kept()),
        ("both", "CC0-1.0 AND CC-BY-4.0", kept()),
        ("nested", "CC-BY-NC-4.0 OR (MIT AND CC-BY-4.0)", kept()),
        ("lower-case", "cc-by-4.0", kept()),
        ("one-refused", "CC-BY-4.0 AND CC-BY-NC-4.0", refused),
        ("all-refused", "GPL-3.0-only OR CC-BY-ND-4.0", refused),
        ("prose", "All rights reserved", unknown),
        ("no-assertion", "NOASSERTION", unknown),
        ("null", None, unknown),
    ]
    for number, (name, expression, expect) in enumerate(cases, 177):
        yield Planted(f"planted-licence-{name}", digest("en", number).body, expect, {"rights": expression})


def whole_source(rule: str, first: int) -> Iterator[Planted]:
    """Good texts of a source whose licence keeps them out."""
    for number in range(first, first + 2):
        yield Planted(f"planted-{rule.replace('_', '-')}-{number}", digest("en", number).body, dropped("license", rule))
