"""Exact postal addresses: US street lines and post-office boxes, Chinese 省市区路号室.

A US line is a house number, capitalised names, and a street word; unit, city, state and ZIP join it where they follow.
Street words that are ordinary words too ("Court", "Drive"), or in lower case, need more: a line end, a punctuation mark
or a unit behind them, a direction in the name, a house number of five digits, or "at" before it.
A Chinese address needs a street with a house number, or a building with a room; what stands before is taken from the
first division name on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from stages.pii.spans import Span, Starts, matches

_PLAIN = "street|avenue|road|boulevard|lane|terrace|parkway|highway|turnpike|expressway|crescent|alley"
_PLAIN_SHORT = "str|st|ave|rd|blvd|ln|pkwy|hwy|expy|cres|aly|blv"
_AMBIGUOUS = "drive|court|place|way|square|circle|trail|plaza|loop|row|run|walk|path|pike|point|ridge|cove"
_AMBIGUOUS_SHORT = "dr|ct|pl|sq|cir|trl|plz"
_STATES = (
    "A[LKZR]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|P[AR]|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY]"
    "|Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida|Georgia|Hawaii|Idaho|Illinois"
    "|Indiana|Iowa|Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts|Michigan|Minnesota|Mississippi|Missouri"
    "|Montana|Nebraska|Nevada|New[ ]Hampshire|New[ ]Jersey|New[ ]Mexico|New[ ]York|North[ ]Carolina|North[ ]Dakota"
    "|Ohio|Oklahoma|Oregon|Pennsylvania|Rhode[ ]Island|South[ ]Carolina|South[ ]Dakota|Tennessee|Texas|Utah|Vermont"
    "|Virginia|Washington|West[ ]Virginia|Wisconsin|Wyoming"
)
_STOP = r"(?![0-9A-Za-z_\u00c0-\u024f])"  # a word ends; Han characters may follow directly
_DIRECTION = r"(?:N|S|E|W|NE|NW|SE|SW|North|South|East|West)\b\.?"
_NAME = r"(?:[A-Z][\w'’-]{0,24}|[1-9][0-9]{0,2}(?:st|nd|rd|th|ST|ND|RD|TH))\.?"
_UNIT = r"(?:(?i:apartment|apt|suite|ste|unit|room|rm|floor|fl|building|bldg)\b\.?[ ]?|\#[ ]?)[A-Za-z0-9-]{1,6}" + _STOP
_FIRST = "Avenue|Boulevard|Rue|Place|Chemin|Calle|Avenida|Via|Viale|Rua"
STREET_WORDS: Final = tuple(f"{_PLAIN}|{_PLAIN_SHORT}|{_AMBIGUOUS}|{_AMBIGUOUS_SHORT}|{_FIRST}".lower().split("|"))
_US = re.compile(
    rf"""[1-9](?<![0-9A-Za-z_\u00c0-\u024f.,$€£”’\#/:-].)[0-9]{{0,5}}(?:-[0-9]{{1,4}})?[A-Z]?[ ]+(?![AP]\.?M\b)
    (?P<direction>{_DIRECTION}[ ]+)?
    (?:{_NAME}[ ]+){{1,4}}?
    (?:(?P<plain>(?i:{_PLAIN})(?:{_STOP})|(?i:{_PLAIN_SHORT})(?:{_STOP})\.?)
      |(?P<ambiguous>(?i:{_AMBIGUOUS})(?:{_STOP})|(?i:{_AMBIGUOUS_SHORT})(?:{_STOP})\.?))
    (?:[ ]{_DIRECTION}(?![\w]))?
    (?P<unit>(?:,?\s{{1,4}}|[ ]*,[ ]*){_UNIT})?
    (?P<city>(?:,\s{{0,4}}|\s{{1,4}})(?:[A-Z][A-Za-z.'’-]{{1,24}}[ ]?){{1,3}},?\s{{1,4}}(?:{_STATES}){_STOP}
      (?:,?\s{{1,4}}[0-9]{{5}}(?:-[0-9]{{4}})?(?![0-9]))?)?""",
    re.VERBOSE,
)
_STREET_FIRST = re.compile(
    rf"[1-9](?<![0-9A-Za-z_\u00c0-\u024f.,$€£”’\#/:-].)[0-9]{{0,5}}[ ](?:{_FIRST})[ ]"
    r"(?:d['’]|(?:de|des|du|del|della|di|do|da|dos|das)[ ](?:(?:la|las|los)[ ]|l['’])?)[^\W\d_a-z][\w'’-]{1,24}"
)
_END = re.compile(r"[ \t]*(?:[,;:.)\]\"'”’!?|\n\r]|$)")
_SINCE = re.compile(
    r"(?<![A-Za-z])(?:in|since|of|by|until|from|during|after|before|the|summer|spring|fall|winter)[ ]+$", re.IGNORECASE
)
_NOT_STREETS: Final = re.compile(r"[ ](?:Hard|Flash|Disk|Supreme|High|District|First|Second|Third|One|Test|Mt|Mount)\b")
_BOX = re.compile(r"(?<!\w)P\.?[ ]?O\.?[ ]?Box[ ]+[0-9]{1,6}(?![\w])", re.IGNORECASE)


def find_us_streets(text: str, starts: Starts = None) -> Iterator[Span]:
    """US street lines, with unit, city, state and ZIP where they follow, and lines such as `9 Avenue de Lyon`."""
    for match in matches(_US, text, starts):
        if _is_us(text, match):
            yield Span(match.start(), match.end(), "address", "us_street", 0.85 if match["city"] else 0.6)
    for match in matches(_STREET_FIRST, text, starts):
        yield Span(match.start(), match.end(), "address", "street_first", 0.6)


def find_us_boxes(text: str) -> Iterator[Span]:
    """US post-office boxes."""
    for match in _BOX.finditer(text):
        yield Span(match.start(), match.end(), "address", "us_box", 0.6)


def _is_us(text: str, match: re.Match[str]) -> bool:
    if match["city"]:
        return True
    number = match[0].split()[0]
    if (
        len(number) == 4
        and number[:2] in ("18", "19", "20")
        and _SINCE.search(text, max(0, match.start() - 12), match.start())
    ):
        return False  # "in 1990 Wall Street"
    if (match["ambiguous"] or match["plain"].islower()) and not match["unit"]:
        placed = match["direction"] or len(number) >= 5 or text.endswith("at ", 0, match.start())
        return bool(placed or _END.match(text, match.end())) and not _NOT_STREETS.search(match[0])
    return True


_PROVINCES = (
    "北京|天津|上海|重庆|重慶|河北|山西|辽宁|遼寧|吉林|黑龙江|黑龍江|江苏|江蘇|浙江|安徽|福建|江西|山东|山東|河南|湖北|湖南"
    "|广东|廣東|海南|四川|贵州|貴州|云南|雲南|陕西|陝西|甘肃|甘肅|青海|台湾|台灣|臺灣|内蒙古|內蒙古|广西|廣西|西藏|宁夏|寧夏|新疆"
    "|香港|澳门|澳門"
)
_N = r"[0-9０-９一二三四五六七八九十百零〇]{1,6}(?:[-－之][0-9]{1,4})?"
_HOUSE = re.compile(
    rf"(?:(?<![铁鐵公])路|(?<![国國省县縣轨軌管频頻渠通跑航隧])道|街|巷|胡同|弄|里|村|坊)(?:[东西南北中東]段?|[一二三四五六七八九十]段)?\s?(?:{_N}\s?[弄巷]\s?)?{_N}\s?[号號](?![线線码碼文楼樓])"
    rf"|{_N}\s?(?:栋|棟|幢|号楼|號樓|座)\s?(?:{_N}\s?(?:单元|單元)\s?)?(?:{_N}\s?[层層楼樓]\s?)?{_N}\s?室"
)
_ROOM = re.compile(rf"(?:\s?{_N}\s?(?:号楼|號樓|栋|棟|幢|座|单元|單元|层|層|楼|樓|室|号|號))+|[ ]?院(?:{_N}[号號]楼)?")
_RUN_BACKWARDS = re.compile(r"[\u4e00-\u9fff0-9A-Za-z]{0,40}")
_PROVINCE = re.compile(rf"(?:{_PROVINCES})(?:省|市|自治区|自治區|壮族自治区|回族自治区|维吾尔自治区|特别行政区)?")
_DIVISION = re.compile(r"[\u4e00-\u9fff]{1,12}?(?:自治州|地区|地區|[市区區县縣旗州盟镇鎮乡鄉])")
# Words that end before a name begins: what follows the last of them is the name.
_LEAD = re.compile(
    r".*(?:地址|住址|现址|現址|[位坐][于於]|落于|住在|家住|居住|寄到|寄至|寄往|送到|送至|来到|來到|前往|[迁遷][往到至]|搬到|政府[驻駐]|现住|現住|[购購買买][入得]|公司)[为為是在了]?"
)
_PARTICLE = re.compile(r".*[在到]|.+[至往是有自]")


_LONGEST_HOUSE: Final = 64  # characters that one match of _HOUSE can take


def find_cn(text: str, ends: Starts = None) -> Iterator[Span]:
    """Chinese addresses down to the house number or room; `ends` are the 号 and 室 that can close one."""
    for match in _HOUSE.finditer(text) if ends is None else _houses(text, ends):
        run = _RUN_BACKWARDS.match(text[max(0, match.start() - 40) : match.start()][::-1])
        before = run[0][::-1] if run else ""
        start = match.start() - len(before) + _begin(before)
        room = _ROOM.match(text, match.end())
        if start < match.start():
            yield Span(start, room.end() if room else match.end(), "address", "cn_street", 0.6)


def _houses(text: str, ends: Sequence[int]) -> Iterator[re.Match[str]]:
    """Matches of _HOUSE, searched before each group of ends that lie close together."""
    for i, end in enumerate(ends):
        if i == 0 or end - ends[i - 1] > _LONGEST_HOUSE:
            start = max(0, end - _LONGEST_HOUSE)
        if i + 1 == len(ends) or ends[i + 1] - end > _LONGEST_HOUSE:
            yield from _HOUSE.finditer(text, start, end + 2)  # one more than the end, for what must not follow


def _begin(before: str) -> int:
    """Where the address begins in the run of characters before its street word; the run's length if it has no name."""
    lead = _LEAD.match(before)
    at = lead.end() if lead else 0
    province = _PROVINCE.search(before, at)
    if province:
        return province.start()
    division = _DIVISION.search(before, at)
    name = division[0][:-1] if division else before[at:]
    particle = _PARTICLE.match(name)
    start = (division.start() if division else at) + (particle.end() if particle else 0)
    return start if division else max(start, len(before) - 8)
