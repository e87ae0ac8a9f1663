"""Imported once by the process that workers are forked from, so that they share the kernels' code and start at once."""

from __future__ import annotations

import kernels

kernels.compile_all()
