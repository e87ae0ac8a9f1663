"""Bytes to text: the documented order, and what is counted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.ingest.charsets import codec_of
from stages.ingest.decode import RejectedError, _has_controls, control_share, decode, remove_nuls, replace_surrogates

ENGLISH = "The ferry leaves at nine. It carries “mail”, timber and — on Sundays — a small band.\n"
RUSSIAN = "Паром отходит в девять. Он везёт почту, лес и по воскресеньям маленький оркестр.\n"
SIMPLIFIED = "渡船九点开。它运送邮件、木材，星期天还带上一支小乐队。孩子们在岸边等着听音乐。\n"
TRADITIONAL = "渡船九點開。它運送郵件、木材，星期天還帶上一支小樂隊。孩子們在岸邊等著聽音樂。\n"
JAPANESE = "渡し船は九時に出ます。郵便と材木を運び、日曜日には小さな楽団も乗せます。\n"
KOREAN = "나룻배는 아홉 시에 떠난다. 우편물과 목재를 나르고 일요일에는 작은 악단도 태운다.\n"
FRENCH = "L’été dernier, le bac transportait déjà le courrier, où que l’on fût arrêté près de la forêt.\n"
POLISH = "Prom odpływa o dziewiątej. Wozi pocztę, drewno, a w niedziele małą orkiestrę dętą, źdźbła też.\n"
TURKISH = "Feribot dokuzda kalkar; posta, kereste ve pazar günleri küçük bir bando taşır, ışığı söner.\n"

ENCODED = [
    pytest.param(SIMPLIFIED, "gbk", "gbk", id="gbk"),
    pytest.param(SIMPLIFIED + "㐀镕", "gb18030", "gb18030", id="gb18030"),
    pytest.param(TRADITIONAL, "big5", "big5", id="big5"),
    pytest.param(JAPANESE, "shift_jis", "Shift_JIS", id="shift_jis"),
    pytest.param(JAPANESE, "euc_jp", "EUC-JP", id="euc-jp"),
    pytest.param(KOREAN, "euc_kr", "euc-kr", id="euc-kr"),
    pytest.param(RUSSIAN, "cp1251", "windows-1251", id="windows-1251"),
    pytest.param(RUSSIAN, "koi8_r", "koi8-r", id="koi8-r"),
    pytest.param(FRENCH, "cp1252", "iso-8859-1", id="windows-1252"),
    pytest.param(POLISH, "cp1250", "windows-1250", id="windows-1250"),
    pytest.param(TURKISH, "cp1254", "iso-8859-9", id="windows-1254"),
]


@pytest.mark.parametrize(("text", "codec", "label"), ENCODED)
def test_a_declared_charset_gives_the_text_back_exactly(text: str, codec: str, label: str) -> None:
    found = decode(text.encode(codec), [label])
    assert (found.text, found.by, found.codec, found.replacements) == (text, "declared", codec_of(label), 0)


@pytest.mark.parametrize(("text", "codec", "label"), ENCODED)
def test_an_undeclared_charset_is_detected_in_a_few_sentences(text: str, codec: str, label: str) -> None:
    found = decode((text * 3).encode(codec))
    assert (found.text, found.by, found.codec) == (text * 3, "detected", codec_of(label))


@pytest.mark.parametrize("text", [ENGLISH, RUSSIAN, SIMPLIFIED, JAPANESE, KOREAN, SIMPLIFIED + "🌊𠀀"])
@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-8"])
def test_a_byte_order_mark_decides_and_leaves_no_trace_in_the_text(text: str, codec: str) -> None:
    found = decode(("\ufeff" + text).encode(codec), ["gbk"])
    assert (found.text, found.codec, found.by) == (text, codec, "bom")


@pytest.mark.parametrize("text", [ENGLISH, RUSSIAN, SIMPLIFIED, TRADITIONAL, JAPANESE, KOREAN, SIMPLIFIED + "🌊𠀀\n"])
@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_known_by_its_bytes(text: str, codec: str) -> None:
    found = decode(text.encode(codec), ["gbk"])
    assert (found.text, found.codec, found.by) == (text, codec, "pattern")


def test_iso_2022_is_known_by_its_escapes_although_its_bytes_are_valid_utf_8() -> None:
    raw = JAPANESE.encode("iso2022_jp")
    assert raw.isascii()
    assert (decode(raw).text, decode(raw).by) == (JAPANESE, "pattern")
    assert decode(KOREAN.encode("iso2022_kr")).text == KOREAN
    log = "\x1b[31mred\x1b(B plain text that a terminal coloured, nothing else\n"
    assert (decode(log.encode()).text, decode(log.encode()).by) == (log, "utf-8")


@pytest.mark.parametrize(
    ("raw", "text"), [("6e61c3af766520706c616e0a", "naïve plan\n"), ("e286927374617274", "→start")]
)
def test_enc_01_short_valid_utf_8_is_never_guessed_to_be_something_else(raw: str, text: str) -> None:
    """ENC-01."""
    found = decode(bytes.fromhex(raw))
    assert (found.text, found.codec, found.by) == (text, "utf-8", "utf-8")


def test_enc_03_gb2312_means_gb18030() -> None:
    """ENC-03."""
    assert decode(bytes.fromhex("e946c2af8139ee39"), ["gb2312"]).text == "镕炉㐀"
    html = decode(bytes.fromhex("3c6d65746120636861727365743d22676232333132223e3c703ee946c2af3c2f703e"), ["gb2312"])
    assert html.text.endswith("<p>镕炉</p>")


def test_enc_04_iso_8859_1_means_windows_1252() -> None:
    """ENC-04."""
    assert decode(b"gr\xfcne \xc4pfel", ["iso-8859-1"]).text == "grüne Äpfel"
    assert decode(b"\x93quoted\x94", ["latin1"]).text == "“quoted”"


def test_enc_08_a_nul_in_text_is_removed_and_counted() -> None:
    """ENC-08."""
    assert remove_nuls("width 3\0 to 5 cm") == ("width 3 to 5 cm", 1)
    assert decode(b"width 3\0 to 5 cm").by == "utf-8"  # one zero byte does not make it UTF-16


def test_enc_08_what_control_characters_dominate_is_binary() -> None:
    """ENC-08."""
    tar_like = b"oscar" + b"\0" * 64 + b"0006464\0"
    with pytest.raises(RejectedError, match="binary_content"):
        decode(tar_like)
    png = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000200000002008060000007334ff0000000467414d41")
    with pytest.raises(RejectedError, match="binary_content"):
        decode(png)
    numbers = b"".join(n.to_bytes(2, "little") for n in range(1, 30))  # the pattern of UTF-16, but no text
    with pytest.raises(RejectedError, match="binary_content"):
        decode(numbers)


def test_single_accents_and_quotes_among_ascii_are_never_taken_for_chinese() -> None:
    text = "They didn’t stop at the café — the ferry’s crew wouldn’t wait.\n" * 3
    found = decode(text.encode("cp1252"))
    assert (found.text, found.codec) == (text, "cp1252")


def test_chinese_comments_among_code_are_detected() -> None:
    text = "for (int i = 0; i < n; ++i) {  // 遍历所有渡船\n    a[i] = b[i] + 1;  // 加一\n}\n" * 4
    found = decode(text.encode("gbk"))
    assert (found.text, found.codec) == (text, "gb18030")


def test_the_first_declared_charset_that_fits_wins() -> None:
    raw = SIMPLIFIED.encode("gbk")
    assert decode(raw, ["bogus", "gbk", "windows-1251"]).codec == "gb18030"
    assert decode(raw, ["windows-1251", "gbk"]).codec == "cp1251"  # it decodes: the order is the order of trust
    assert decode(raw, ["utf-8", "gbk"]).text == SIMPLIFIED


def test_valid_utf_8_is_utf_8_whatever_is_declared() -> None:
    assert decode(FRENCH.encode(), ["windows-1252"]).text == FRENCH


def test_a_few_bad_bytes_in_a_declared_charset_become_u_fffd_and_are_counted() -> None:
    raw = bytearray((SIMPLIFIED * 10).encode("gbk"))
    raw[len(SIMPLIFIED.encode("gbk")) - 1] = 0xFF  # in place of the first line's end
    found = decode(bytes(raw), ["gbk"])
    assert (found.by, found.codec, found.replacements) == ("declared", "gb18030", 1)
    assert found.text == SIMPLIFIED[:-1] + "\ufffd" + SIMPLIFIED * 9


def test_a_few_bad_bytes_in_utf_8_do_not_turn_it_into_another_charset() -> None:
    text = FRENCH * 3
    found = decode(text.encode() + b"\xe2\x80")  # cut within a character
    assert (found.text, found.codec, found.by, found.replacements) == (text + "\ufffd", "utf-8", "replacement", 1)


def test_a_text_that_holds_u_fffd_itself_has_no_replacements() -> None:
    assert decode("a \ufffd b".encode()).replacements == 0
    found = decode(("é\ufffd" * 200).encode() + b"\xff")
    assert (found.replacements, found.text.count("\ufffd")) == (1, 201)


def test_more_bad_bytes_than_the_share_allows_are_undecodable() -> None:
    raw = "é".encode() * 50 + b"\xff\xfe\xff" * 20
    with pytest.raises(RejectedError, match="undecodable") as caught:
        decode(raw)
    assert "give the source its `encoding`" in caught.value.detail
    found = decode(raw, max_replacement_share=0.6)
    assert (found.by, found.replacements) == ("replacement", 60)


def test_utf_16_cut_in_mid_character_loses_that_character_only() -> None:
    found = decode(("\ufeff" + ENGLISH * 2).encode("utf-16-le")[:-1])
    assert (found.text, found.replacements) == ((ENGLISH * 2)[:-1] + "\ufffd", 1)


def test_enc_07_lone_surrogates_become_u_fffd_and_are_counted() -> None:
    """ENC-07."""
    assert replace_surrogates("a\ud83d b") == ("a\ufffd b", 1)
    assert replace_surrogates("😀") == ("😀", 0)
    assert replace_surrogates("\udcb2 tail") == ("\ufffd tail", 1)


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("GBK", "gb18030"),
        (' "gb_2312-80" ', "gb18030"),
        ("big5", "big5hkscs"),
        ("Shift_JIS", "cp932"),
        ("euc_kr", "cp949"),
        ("ks_c_5601-1987", "cp949"),
        ("us-ascii", "cp1252"),
        ("latin_1", "cp1252"),
        ("TIS-620", "cp874"),
        ("utf_16", "utf-16-le"),
        ("UTF8", "utf-8"),
        ("iso-8859-2", "iso8859-2"),
        ("", None),
        ("bogus", None),
        ("a\0b", None),
        ("base64", None),
        ("rot13", None),
        ("punycode", None),
        ("unicode_escape", None),
        ("utf-7", None),
    ],
)
def test_labels_mean_what_the_encoding_standard_says_and_no_text_transform_is_a_charset(
    label: str, codec: str | None
) -> None:
    assert codec_of(label) == codec


def test_control_share_counts_c0_and_del_but_not_white_space() -> None:
    assert control_share(b"a\tb\r\n\x0c") == 0
    assert control_share(b"\0\x1b\x7fa") == 0.75
    assert control_share(b"") == 0


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=300), st.lists(st.sampled_from(["gbk", "big5", "utf-16", "cp1252", "euc-jp", "x"]), max_size=2)
)
def test_any_bytes_give_text_that_encodes_or_a_reason(raw: bytes, declared: list[str]) -> None:
    try:
        found = decode(raw, declared)
    except RejectedError as error:
        assert error.reason in {"binary_content", "undecodable"}
    else:
        found.text.encode("utf-8")
        assert found.replacements <= found.text.count("\ufffd")
        assert found == decode(raw, declared)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60))
def test_any_text_written_as_utf_8_comes_back_exactly(text: str) -> None:
    found = decode(text.removeprefix("\ufeff").encode())
    assert (found.text, found.by) == (text.removeprefix("\ufeff"), "utf-8")


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=40))
def test_the_quick_look_for_control_characters_agrees_with_counting_them(raw: bytes) -> None:
    assert _has_controls(raw) == (control_share(raw) > 0)
