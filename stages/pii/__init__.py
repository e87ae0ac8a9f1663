"""PII scrubbing: validated recognisers, declared placeholders, trusted spans.

`PII` is the stage; `find`, `scrub`, `restore`, `mask` and `placeholders` work without a pipeline.
"""

from stages.pii.editor import PII
from stages.pii.mask import mask
from stages.pii.params import ENTITIES, PIIParams, placeholders
from stages.pii.recognise import find
from stages.pii.scrub import Edit, Placeholder, Scrubbed, restore, scrub
from stages.pii.spans import Span

__all__ = [
    "ENTITIES",
    "PII",
    "Edit",
    "PIIParams",
    "Placeholder",
    "Scrubbed",
    "Span",
    "find",
    "mask",
    "placeholders",
    "restore",
    "scrub",
]
