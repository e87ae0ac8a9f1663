"""The judge `decontaminate`: documents that hold what models are evaluated on."""

from stages.decontaminate.judge import Decontaminate

__all__ = ["Decontaminate"]
