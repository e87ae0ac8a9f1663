"""Charset labels as people write them, and the codec that really decodes what carries them.

Labels follow the WHATWG Encoding Standard (https://encoding.spec.whatwg.org, "Names and labels"): a label stands for
the superset in use, so `gb2312` means GB18030 and `iso-8859-1` means windows-1252. Labels outside that list may name
any text codec of Python.
"""

from __future__ import annotations

import codecs
from typing import Final

_LABELS: Final[dict[str, str]] = {
    label: codec
    for codec, labels in {
        "gb18030": "gb2312 gbk gb18030 gb_2312 gb_2312-80 chinese csgb2312 csiso58gb231280 iso-ir-58 x-gbk cp936 ms936",
        "big5hkscs": "big5 big5-hkscs big5hkscs cn-big5 csbig5 x-x-big5 cp950 ms950",
        "cp932": "shift_jis shift-jis sjis x-sjis csshiftjis ms_kanji ms932 windows-31j cp932",
        "euc_jp": "euc-jp x-euc-jp cseucpkdfmtjapanese eucjp",
        "cp949": "euc-kr cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 "
        "windows-949 cp949 ms949 euckr uhc",
        "iso2022_jp_ext": "iso-2022-jp csiso2022jp",
        "iso2022_kr": "iso-2022-kr csiso2022kr",
        "cp1252": "windows-1252 x-cp1252 cp1252 iso-8859-1 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 iso-ir-100 "
        "latin1 latin-1 l1 ascii us-ascii ansi_x3.4-1968 cp819 ibm819 csisolatin1",
        "cp1254": "windows-1254 x-cp1254 cp1254 iso-8859-9 iso8859-9 iso_8859-9 latin5 l5 csisolatin5",
        "cp874": "windows-874 cp874 iso-8859-11 iso8859-11 tis-620 dos-874",
        "utf-8": "utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8 utf-8-sig",
        "utf-16-le": "utf-16 utf-16le unicode ucs-2 iso-10646-ucs-2 csunicode unicodefeff",
        "utf-16-be": "utf-16be unicodefffe",
        "utf-32-le": "utf-32 utf-32le",
        "utf-32-be": "utf-32be",
        "mac_roman": "macintosh mac x-mac-roman csmacintosh",
        "mac_cyrillic": "x-mac-cyrillic x-mac-ukrainian",
        "koi8_r": "koi8-r koi8 koi koi8_r cskoi8r",
        "koi8_u": "koi8-u koi8-ru",
        "cp866": "ibm866 866 cp866 csibm866",
    }.items()
    for label in labels.split()
}

_NOT_CHARSETS: Final = frozenset({"idna", "punycode", "undefined", "utf-7", "unicode_escape", "raw_unicode_escape"})
_NOT_CHARSET_NAMES: Final = frozenset(name.replace("_", "-") for name in _NOT_CHARSETS)

DETECTABLE: Final = (
    *("gb18030", "big5", "big5hkscs", "cp932", "euc_jp", "cp949"),
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258"),
    *("koi8_r", "koi8_u", "cp874", "cp866"),
)
"""Codecs a detector may answer: those that text on the web is written in. More candidates only add wrong answers."""

WESTERN: Final = "cp1252"
LATIN: Final = ("cp1250", "cp1252", "cp1254", "cp1257", "cp1258")
SUPERSETS: Final = {"big5": "big5hkscs"}
WIDE: Final = frozenset({"utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"})
"""Codecs whose line ends are more than one byte."""


def codec_of(label: str) -> str | None:
    """Python codec for a declared charset, or None where the label names no charset.

    >>> codec_of("GB2312"), codec_of('"iso-8859-1"'), codec_of("bogus")
    ('gb18030', 'cp1252', None)
    """
    name = label.strip(" \t\r\n\f\"'").lower()
    if (codec := _labelled(name)) is not None:
        return codec
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):  # ValueError: a NUL in the label
        return None
    if info.name.replace("_", "-") in _NOT_CHARSET_NAMES or not getattr(info, "_is_text_encoding", True):
        return None
    return _labelled(info.name) or info.name


def _labelled(name: str) -> str | None:
    return _LABELS.get(name) or _LABELS.get(name.replace("_", "-"))
