# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Stands in for a project's own six: what adanet uses of it."""


def add_metaclass(metaclass):
  def decorate(cls):
    attributes = dict(cls.__dict__)
    del attributes["__dict__"], attributes["__weakref__"]
    return metaclass(cls.__name__, cls.__bases__, attributes)
  return decorate
