# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which optional arguments a user's functions ask for.

The ensemble that won the iteration before costs a lot: all that it is made of
is built for it. So it is made only for a function that asks for it.
"""

import inspect
from typing import Any, Callable, Dict

PREVIOUS = "previous_ensemble"


def asks_for(function: Callable[..., Any], argument: str) -> bool:
  """Returns whether a function has a parameter of that name."""
  return argument in inspect.signature(function).parameters


def asks_for_previous(function: Callable[..., Any]) -> bool:
  """Returns whether a function gets the previous ensemble.

  One with `**kwargs` gets it, as it may hand it on.
  """
  parameters = inspect.signature(function).parameters
  return PREVIOUS in parameters or any(
      parameter.kind == inspect.Parameter.VAR_KEYWORD
      for parameter in parameters.values())


def answered(function: Callable[..., Any], arguments: Dict[str, Any],
             previous_ensemble: Any, **optional: Any) -> Dict[str, Any]:
  """Returns the arguments of a function, with the optional ones that it takes.

  Args:
    function: the user's.
    arguments: dict of all that each such function takes.
    previous_ensemble: the previous ensemble, or None.
    **optional: further arguments, each for a function that has it by name.
  """
  given = dict(arguments)
  if asks_for_previous(function):
    given[PREVIOUS] = previous_ensemble
  given.update((name, value) for name, value in optional.items()
               if asks_for(function, name))
  return given


def builder_asks(builder: Any) -> bool:
  """Returns whether a builder needs the previous ensemble in the graph."""
  return callable(getattr(builder, "prune_previous_ensemble", None)) or any(
      asks_for_previous(method) for method in (
          builder.build_subnetwork, builder.build_subnetwork_train_op))
