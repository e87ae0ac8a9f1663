"""Invented personal data and text that only resembles it, from a fixed seed: what each generator makes is known."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator

Make = Callable[[random.Random], str]

BEFORE = (
    *(
        "",
        "Please use ",
        "My details: ",
        "(see ",
        "It is ",
        "contact\t",
        "1. ",
        "- ",
        "“",
        "id=",
        "* ",
        "Re: ",
        "\n",
        "> ",
    ),
    *("请记录：", "资料是", "我的信息（", "附：", "如下\n", "联系人张三，"),
)
AFTER = (
    "",
    ".",
    ", thanks",
    ")",
    "\nBest",
    "; and so on",
    "”",
    " | next",
    "。",
    "，谢谢",
    "）",
    "吧",
    "!",
    " today",
    "\t",
)


def sentences(make: Make, count: int, seed: int) -> Iterator[tuple[str, int, int]]:
    """`count` texts that hold one made value each, with its place."""
    rng = random.Random(seed)
    for _ in range(count):
        before, value, after = rng.choice(BEFORE), make(rng), rng.choice(AFTER)
        if value[0] > "\u2e80":  # a Chinese address runs on from Chinese text: only a sign tells where it begins
            before, after = rng.choice(("", "地址：", "寄到", "住在", "收件 ")), rng.choice(("", "。", "，谢谢", "\n"))
        yield before + value + after, len(before), len(before) + len(value)


def digits(rng: random.Random, count: int) -> str:
    return "".join(rng.choice("0123456789") for _ in range(count))


def _word(rng: random.Random) -> str:
    return "".join(rng.choice("bcdfghklmnprstvz") + rng.choice("aeiou") for _ in range(rng.randint(1, 4)))


def email(rng: random.Random) -> str:
    local = rng.choice(("", "x.", "a_", "q+")) + _word(rng) + rng.choice(("", digits(rng, 2), "-" + _word(rng)))
    end = rng.choice(("com", "org", "net", "de", "co.uk", "com.cn", "io", "edu", "info", "fr"))
    value = f"{local}@{_word(rng)}{rng.choice(('', '.mail', '-x'))}.{end}"
    return value.upper() if rng.random() < 0.1 else value


def luhn_digit(body: str) -> str:
    total = 0
    for i, digit in enumerate(reversed(body)):
        doubled = int(digit) * (2 - i % 2)
        total += doubled - 9 if doubled > 9 else doubled
    return str(-total % 10)


def card(rng: random.Random) -> str:
    prefix, size = rng.choice((("4", 16), ("51", 16), ("2300", 16), ("37", 15), ("6011", 16), ("622", 19), ("35", 16)))
    body = prefix + digits(rng, size - 1 - len(prefix))
    number = body + luhn_digit(body)
    mark = rng.choice(("", " ", "-"))
    if not mark:
        return number
    cuts = (4, 10) if size == 15 else (4, 8, 12, 16)
    parts = [number[a:b] for a, b in zip((0, *cuts), (*cuts, size), strict=True) if a < size]
    return mark.join(part for part in parts if part)


def broken_card(rng: random.Random) -> str:
    number = card(rng)
    return number[:-1] + str((int(number[-1]) + rng.randint(1, 9)) % 10)


def iban(rng: random.Random, shift: int = 0) -> str:
    country, size = rng.choice((("DE", 18), ("FR", 10), ("ES", 20), ("AT", 16), ("PL", 24)))
    account = digits(rng, size)
    if country == "FR":
        account = digits(rng, 10) + digits(rng, 11) + digits(rng, 2)
    value = account + "".join(str(ord(c) - 55) for c in country) + "00"
    check = (98 - int(value) % 97 + shift - 2) % 97 + 2
    number = f"{country}{check:02}{account}"
    grouped = " ".join(number[i : i + 4] for i in range(0, len(number), 4))
    return grouped if rng.random() < 0.4 else number


def broken_iban(rng: random.Random) -> str:
    return iban(rng, rng.randint(1, 90))


def ip(rng: random.Random) -> str:
    if rng.random() < 0.2:
        groups = [f"{rng.randint(1, 0xFFFF):x}" for _ in range(6)]
        return f"2a01:{rng.choice(('4f8', 'e0a', '111'))}:" + ":".join(groups)
    first = rng.choice((23, 34, 46, 62, 77, 81, 91, 103, 134, 151, 185, 193, 212))
    return f"{first}." + ".".join(str(rng.randint(10, 254)) for _ in range(3))


def us_ssn(rng: random.Random) -> str:
    area = rng.choice([n for n in range(1, 900) if n != 666])
    serial = rng.choice([n for n in range(1, 10_000) if n not in (6789, 4320)])
    return f"{area:03}-{rng.randint(1, 99):02}-{serial:04}"


def us_phone(rng: random.Random) -> str:
    area = rng.choice(("212", "415", "303", "617", "206", "512", "773", "404", "602", "702"))
    number = (area, str(rng.randint(220, 989)).replace("11", "12"), digits(rng, 4))
    shape = rng.choice(("({}) {}-{}", "{}-{}-{}", "+1 {} {} {}", "+1-{}-{}-{}", "{}.{}.{}", "1-{}-{}-{}"))
    return shape.format(*number)


def cn_mobile(rng: random.Random) -> str:
    prefix = rng.choice(("138", "139", "150", "158", "177", "186", "188", "199", "135"))
    mark = rng.choice(("", "", " ", "-"))
    return rng.choice(("", "", "+86 ")) + mark.join((prefix, digits(rng, 4), digits(rng, 4)))


def cn_id(rng: random.Random, shift: int = 0) -> str:
    region = rng.choice(("110101", "310104", "440305", "510107", "650102", "330106", "420111"))
    day = f"{rng.randint(1930, 2015)}{rng.randint(1, 12):02}{rng.randint(1, 28):02}"
    body = region + day + digits(rng, 3)
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    total = sum(int(d) * w for d, w in zip(body, weights, strict=True))
    last = "10X98765432"[(total + shift) % 11]
    return body + (last.lower() if rng.random() < 0.5 else last)


def broken_cn_id(rng: random.Random) -> str:
    return cn_id(rng, rng.randint(1, 10))


def cn_bank_card(rng: random.Random) -> str:
    body = rng.choice(("9558", "9559", "6033", "8888", "1031")) + digits(rng, rng.choice((11, 14)))
    return rng.choice(("银行卡号：", "银行卡 ", "卡号是", "工行账号")) + body + luhn_digit(body)


def cn_passport(rng: random.Random) -> str:
    number = rng.choice(("E", "G", "EA", "EK"))
    return rng.choice(("护照号码", "护照：", "passport no. ", "Passport ")) + number + digits(rng, 9 - len(number))


_STREETS = ("Maple", "Oak Hill", "Lincoln", "5th", "Cedar", "Old Mill", "Washington", "W. Park", "N Elm", "McArthur")
_KINDS = ("Street", "St", "Ave", "Avenue", "Road", "Rd.", "Blvd", "Lane", "Parkway", "Terrace", "Street NW", "Hwy")
_TOWNS = (
    "Springfield, IL 62704",
    "Salem, Oregon 97301",
    "Boise, ID",
    "Port Royal, SC 29935-1234",
    "New Haven, CT 06510",
)


def us_address(rng: random.Random) -> str:
    value = f"{rng.randint(1, 19999)} {rng.choice(_STREETS)} {rng.choice(_KINDS)}"
    if rng.random() < 0.3:
        value += rng.choice((", Apt 4B", " Suite 200", ", Unit 7", " #12"))
    if rng.random() < 0.5:
        value += rng.choice((", ", "\n")) + rng.choice(_TOWNS)
    return value


_REGIONS = (
    "北京市海淀区",
    "上海市徐汇区",
    "广东省深圳市南山区",
    "四川省成都市武侯区",
    "浙江省杭州市西湖区",
    "臺北市大安區",
    "南京市",
    "",
)
_ROADS = (
    "中关村大街",
    "文三路",
    "人民南路",
    "解放道",
    "南京西路",
    "和平街",
    "复兴路",
    "长安街",
    "科技园路",
    "建国门外大街",
)


def cn_address(rng: random.Random) -> str:
    value = f"{rng.choice(_REGIONS)}{rng.choice(_ROADS)}{rng.randint(1, 999)}{rng.choice('号号號')}"
    return value + rng.choice(("", "", f"{rng.randint(1, 30)}楼", f"{rng.randint(1, 9)}栋{rng.randint(101, 2999)}室"))


def _title(rng: random.Random) -> str:
    return _word(rng).capitalize()


NEGATIVES: dict[str, Make] = {
    "version": lambda r: (
        f"{_word(r)} {r.choice(('v', 'version ', ''))}{r.randint(0, 30)}.{r.randint(0, 20)}.{r.randint(0, 99)}"
    ),
    "four-part version": lambda r: (
        f"version {r.randint(1, 99)}.{r.randint(0, 20)}.{r.randint(0, 9999)}.{r.randint(0, 200)}"
    ),
    "isbn": lambda r: (
        f"ISBN {r.choice(('978-', '979-', ''))}{r.randint(0, 9)}-{digits(r, 3)}-{digits(r, 5)}-{digits(r, 1)}"
    ),
    "isbn-13": lambda r: f"978{digits(r, 10)}",
    "doi": lambda r: f"doi:10.{r.randint(1000, 9999)}/{_word(r)}.{r.randint(1990, 2030)}.{digits(r, 7)}",
    "section": lambda r: (
        f"Section {r.randint(1, 20)}.{r.randint(1, 20)}.{r.randint(1, 20)}.{r.randint(1, 9)} {_title(r)}"
    ),
    "rgb": lambda r: f"rgb({r.randint(0, 255)}, {r.randint(0, 255)}, {r.randint(0, 255)}) #{digits(r, 6)}",
    "epoch": lambda r: (
        f"{r.choice(('ts=', 'at ', 'time: '))}1{r.randint(400000000, 799999999)}{r.choice(('', '.' + digits(r, 3)))}"
    ),
    "epoch milliseconds": lambda r: f'"time": 1{r.randint(400000000, 799999999)}{digits(r, 3)},',
    "guid": lambda r: str(uuid.UUID(int=r.getrandbits(128))),
    "order": lambda r: f"order {r.choice(('#', 'no. ', 'SO-'))}{digits(r, r.randint(6, 10))}",
    "coordinates": lambda r: f"{r.uniform(-90, 90):.6f}, {r.uniform(-180, 180):.6f}",
    "user at host": lambda r: f"{_word(r)}@{_word(r)}:~$ ls",
    "package": lambda r: f"{_word(r)}@{r.randint(0, 9)}.{r.randint(0, 30)}.{r.randint(0, 9)}",
    "scoped package": lambda r: f"@{_word(r)}/{_word(r)}@^{r.randint(0, 9)}.{r.randint(0, 30)}.{r.randint(0, 9)}",
    "retina image": lambda r: f"{_word(r)}@{r.choice('23')}x.{r.choice(('png', 'jpg', 'webp'))}",
    "git remote": lambda r: f"git@{_word(r)}.com:{_word(r)}/{_word(r)}.git",
    "date and time": lambda r: (
        f"20{digits(r, 2)}-{r.randint(1, 12):02}-{r.randint(1, 28):02} {r.randint(0, 23):02}:{digits(r, 2)}"
    ),
    "sum": lambda r: f"total {r.randint(1, 999)},{digits(r, 3)},{digits(r, 3)}.{digits(r, 2)} USD",
    "private address": lambda r: f"192.168.{r.randint(0, 255)}.{r.randint(1, 254)}",
    "hardware address": lambda r: ":".join(f"{r.randint(0, 255):02x}" for _ in range(6)),
    "hash": lambda r: f"{r.getrandbits(160):040x}",
    "table of figures": lambda r: " ".join(digits(r, 4) for _ in range(6)),
    "scope": lambda r: f"{_word(r)}::{_word(r)}::{_title(r)}()",
    "chinese count": lambda r: f"第{r.randint(1, 99)}号文件，共{r.randint(100, 99999)}条，地铁{r.randint(1, 20)}号线",
    "part number": lambda r: f"part {_word(r).upper()[:2]}{digits(r, 4)}-{digits(r, 3)}",
    "year and street": lambda r: f"in {r.randint(1800, 2020)} Wall Street fell",
    "percent": lambda r: f"{r.uniform(0, 100):.{r.randint(2, 12)}f} %",
    "phone-like range": lambda r: f"pages {r.randint(100, 400)}-{r.randint(401, 999)}",
    "placeholder address": lambda r: f"<{_word(r)}@{_word(r)}>",
}
"""Thirty kinds of text that is no personal data."""
