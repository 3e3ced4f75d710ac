# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes what `tf.estimator.RunConfig` makes of every case.

Needs TensorFlow 2.15.1, the last with `tf.estimator`:

  python -m adanet.tf_compat.make_run_config_golden \
      --output=adanet/tf_compat/testdata/estimator_run_config.json
"""

import json
import os

from absl import app
from absl import flags
import tensorflow as tf

from adanet.tf_compat import run_config_cases

_VERSION = "2.15.1"
_OUTPUT = flags.DEFINE_string(
    "output", None, "Path of the JSON file to write.")


def _row(case, defaults):
  """Returns the golden row of a case: what differs from the defaults."""
  os.environ.pop("TF_CONFIG", None)
  if case.tf_config is not None:
    os.environ["TF_CONFIG"] = case.tf_config
  try:
    config = tf.estimator.RunConfig(**case.kwargs)
  except Exception as error:  # pylint: disable=broad-except
    return {"raises": type(error).__name__}
  attributes = run_config_cases.attributes(config)
  return {
      "attributes": {
          name: attributes[name] for name in attributes
          if json.dumps(attributes[name]) != json.dumps(defaults[name])
      }
  }


def make():
  """Returns the text of the golden file."""
  os.environ.pop("TF_CONFIG", None)
  defaults = run_config_cases.attributes(tf.estimator.RunConfig())
  rows = {"defaults": {"attributes": defaults}}
  for case in run_config_cases.cases():
    if case.name in rows:
      raise ValueError("two cases are named %r" % case.name)
    rows[case.name] = _row(case, defaults)

  lines = [
      "%s:%s" % (json.dumps(name),
                 json.dumps(rows[name], sort_keys=True, separators=(",", ":")))
      for name in sorted(rows)
  ]
  return "{\n%s\n}\n" % ",\n".join(lines)


def main(argv):
  if len(argv) > 1:
    raise app.UsageError("Unexpected arguments: %r" % argv[1:])
  if tf.version.VERSION != _VERSION:
    raise app.UsageError(
        "TensorFlow must be %s, got %s" % (_VERSION, tf.version.VERSION))
  with open(_OUTPUT.value, "w") as output:
    output.write(make())


if __name__ == "__main__":
  flags.mark_flag_as_required("output")
  app.run(main)
