# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The engine of a chief that is measured: it opens nothing for its user."""

import contextlib
from typing import Iterator

from adanet.engines.cluster import chief
from adanet.engines.cluster import connection as connection_lib
from adanet.training import setup as setup_lib
from adanet.training import trainer


class MeasuredChief(chief.ChiefEngine):
  """Trains with the signals and the events of a benchmark."""

  def __init__(self, setup: setup_lib.SearchSetup,
               connection: connection_lib.Connection,
               training: trainer.Training):
    """Takes what `opened_here` would open."""
    super().__init__(setup, connection)
    self._measured = training

  @contextlib.contextmanager
  def opened_here(self, request: trainer.Request
                 ) -> Iterator[trainer.Training]:
    """See `Engine`."""
    yield self._measured._replace(request=request)
