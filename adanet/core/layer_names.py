# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds the variables of Keras layers that AdaNet 0.8 numbered otherwise.

Keras names a layer without a name `dense`, `dense_1`, and so on. AdaNet 0.8 let
it count through the whole graph, here it begins again in each builder. So the
layers of a subnetwork have other numbers in an old checkpoint, in the same
order.
"""

import collections
import re
import typing

# The scope of a subnetwork, its layer's name without the number, the number.
_LAYER = re.compile(
    r"(adanet/iteration_\d+/subnetwork_[^/]+)/([^/]*?)(?:_(\d+))?/")

_Layers = typing.Dict[typing.Tuple[str, str], typing.List[int]]


def _layers(names: typing.Iterable[str]) -> _Layers:
  """Returns the numbers of layers, by scope and name without the number."""
  found: typing.DefaultDict[
      typing.Tuple[str, str], typing.Set[int]] = collections.defaultdict(set)
  for name in names:
    match = _LAYER.match(name)
    if match and match.group(2) != "adanet":  # Those are slots.
      scope, layer, number = match.groups()
      found[scope, layer].add(int(number or 0))
  return {layer: sorted(numbers) for layer, numbers in found.items()}


def _part(scope, layer, number):
  return f"{scope}/{layer}{'_{}'.format(number) if number else ''}/"


def stored_names(names: typing.Iterable[str],
                 stored: typing.Iterable[str]) -> typing.Dict[str, str]:
  """Returns where a checkpoint has variables stored under another name.

  Args:
    names: the names of the graph's variables.
    stored: the names of those in the checkpoint.

  Returns:
    Dict from a name in the graph to one in the checkpoint, for the layers whose
    numbers differ and whose count is the same.
  """
  names, stored = list(names), set(stored)
  checkpoint = _layers(stored)
  parts: typing.Dict[str, str] = {}
  for (scope, layer), numbers in _layers(names).items():
    others = checkpoint.get((scope, layer), [])
    if len(others) == len(numbers) and others != numbers:
      parts.update(
          (_part(scope, layer, number), _part(scope, layer, other))
          for number, other in zip(numbers, others))
  renamed: typing.Dict[str, str] = {}
  for name in names:
    for part, other in parts.items():
      candidate = name.replace(part, other)
      if part in name and candidate in stored:
        renamed[name] = candidate
        break
  return renamed
