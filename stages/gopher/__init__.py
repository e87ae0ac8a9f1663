"""Heuristic quality rules after Gopher (Rae et al. 2021): the judge `gopher` and its presets."""

from stages.gopher.judge import Gopher, GopherParams, ThresholdParams

__all__ = ["Gopher", "GopherParams", "ThresholdParams"]
