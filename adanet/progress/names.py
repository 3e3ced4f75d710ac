# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Names of ensembles, shortened in the same way wherever they are shown.

    names = Names(["t0_a_grow_complexity_regularized",
                   "t0_b_grow_complexity_regularized"])
    names.short("t0_a_grow_complexity_regularized")  # "t0_a.."
    names.short("t0_a")                        # "t0_a", a subnetwork
    names.end                                  # "_grow_complexity_regu..."

Ensembles of an iteration mostly end alike: with their strategy and ensembler.
"""

import os
from typing import Iterable, Optional

_MARK = ".."
_MIN_END = 6  # Characters.
_STRATEGIES = ("_grow_", "_solo_")


def cut(text: str, width: int) -> str:
  """Returns a text with at most this many characters, at least 5.

  Names often differ at their ends, so the middle is left out.
  """
  if len(text) <= width:
    return text
  tail = (width - len(_MARK)) // 2
  return text[:width - len(_MARK) - tail] + _MARK + text[-tail:]


def _common_end(names):
  """Returns the common end of all names; "" if it is short, or for one name.

  It begins with the strategy, if all have the same one of adanet's, or
  with any "_".
  """
  if len(names) == 1:
    return ""
  end = os.path.commonprefix([name[::-1] for name in names])[::-1]
  strategy = max(end.rfind(name) for name in _STRATEGIES)
  if strategy >= 0:
    end = end[strategy:]
  else:
    end = end[end.find("_"):] if "_" in end else ""
  if len(end) < _MIN_END or any(len(end) >= len(name) for name in names):
    return ""
  return end


class Names:
  """The names of an iteration.

  Attributes:
    end: str, the common end of all its ensembles, which is left out; or "".
  """

  def __init__(self, ensembles: Iterable[str] = ()):
    """Finds the common end of the names of all ensembles of an iteration."""
    self._ensembles = frozenset(ensembles)
    self.end = _common_end(sorted(self._ensembles))

  @property
  def meaning(self) -> str:
    """The text about the ensembles in a heading, or ""."""
    return f" named {_MARK}{self.end}" if self.end else ""

  def short(self, name: str, width: Optional[int] = None) -> str:
    """Returns the short name of an ensemble, or of anything else.

    Args:
      name: str.
      width: int, how many characters it may have, at least 5; None for any
        number.
    """
    if self.end and name in self._ensembles:
      name = name[:len(name) - len(self.end)] + _MARK
    return name if width is None else cut(name, width)
