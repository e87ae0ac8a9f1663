"""Unicode form, line ends, blank lines, invisible characters and mojibake: the editor `normalise`."""

from stages.normalise.editor import Normalise, NormaliseParams

__all__ = ["Normalise", "NormaliseParams"]
