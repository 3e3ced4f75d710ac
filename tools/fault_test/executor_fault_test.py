# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Kills workers and drivers of searches on an executor, and checks the result.

    tools/bazelw run //tools/fault_test:executor_fault_test -- --kills=20 --seed=1

Searches run on a Dask cluster of this machine, one after another. At moments
that the seed chooses, a worker, the driver, or both are killed (`kill -9`). Dask
starts a worker again, this program the driver.

The input has many batches, shuffled with a seed, and one network has dropout by
Keras 3, where the TensorFlow has it. A driver is killed up to six times in one
iteration.

A search has recovered when its winners and all of its variables are those of an
undisturbed one, to the last digit; no attempt of a part began before the last
checkpoint of an attempt that was there when it began; no part that was done has
a new result, or has lost it before the end of its iteration; and no folder
"parts" is left.

Exit status: 0 if all have recovered.
"""

import os
import random
import signal
import sys
import tempfile
import time

from absl import app
from absl import flags
import adanet
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import engines
from adanet.testing import processes
from adanet.testing import searches

_KILLS = flags.DEFINE_integer("kills", 20, "How often.", lower_bound=1)
_SEED = flags.DEFINE_integer("seed", 1, "What is killed, and when.")
_DRIVE = flags.DEFINE_string(
    "drive", None, "The model_dir of a search to lead, by the program itself.")
_SCHEDULER = flags.DEFINE_string("scheduler", None, "Its Dask scheduler.")
_STEP_SECS = flags.DEFINE_float("step_secs", .15, "How long a step takes.")

_KILLS_A_SEARCH = 6
_SECS = 900.  # For a search to end when nothing is killed any more.


class _Dropping(builders.Slow):
  """A slow network whose features are dropped by a layer with a seed."""

  def build_subnetwork(self, features, *args, training, **kwargs):
    layer = tf_compat.keras_3.layers.Dropout(.3, seed=3)
    features = {"x": layer(features["x"], training=training)}
    return super().build_subnetwork(
        features, *args, training=training, **kwargs)


def _input_fn():
  """Returns many batches, in another order in each epoch."""
  features, labels = builders.data(rows=200)
  return tf_compat.v1.data.Dataset.from_tensor_slices(
      ({"x": features}, labels)).shuffle(200, seed=2).repeat().batch(8)


def _drive():
  """Leads a search."""
  distributed = engines.require_dask()
  last = _Dropping if tf_compat.HAS_KERAS_3 else builders.Slow
  with distributed.Client(_SCHEDULER.value) as client:
    searches.estimator(
        _DRIVE.value, *[
            kind(name, _STEP_SECS.value, width=2 + i)
            for i, (name, kind) in enumerate(
                [("a", builders.Slow), ("b", builders.Slow), ("c", last)])],
        max_iteration_steps=40, config=tf_compat.RunConfig(
            tf_random_seed=1, save_checkpoints_steps=3)).train(
                _input_fn, executor=client.get_executor(pure=False))


def _steps(attempt):
  """Returns the steps of the checkpoints of an attempt, increasing."""
  return sorted(
      int(file[len("model.ckpt-"):].split(".")[0])
      for file in os.listdir(attempt)
      if file.startswith("model.ckpt-") and file.endswith(".index"))


class _Search:
  """A search that is disturbed, and what is seen of its parts."""

  def __init__(self, client, step_secs):
    self.model_dir = tempfile.mkdtemp()
    self._client = client
    self._step_secs = step_secs
    self._newest = {}  # From a part's folder to the newest step there.
    self._began_at = {}  # From an attempt to what that was when it began.
    self._seen = set()  # Attempts whose first checkpoint was seen.
    self._results = {}  # From the file of a result to when it was written.
    self.problems = []
    self._start()

  def _start(self):
    self.driver = processes.Program([
        sys.executable, os.path.abspath(__file__), f"--drive={self.model_dir}",
        f"--scheduler={self._client.scheduler.address}",
        f"--step_secs={self._step_secs}"])

  def look(self):
    """Looks at all attempts, and notes what is wrong."""
    for path in list(self._results):
      # An iteration that is joined removes its start before all others.
      if not os.path.exists(path) and os.path.exists(os.path.join(
          os.path.dirname(os.path.dirname(path)), "start.json")):
        del self._results[path]
        self.problems.append(f"{path} was removed")
    for folder, folders, files in os.walk(
        os.path.join(self.model_dir, "parts")):
      if "result" in files:
        path = os.path.join(folder, "result")
        time_written = os.stat(path).st_mtime
        if self._results.setdefault(path, time_written) != time_written:
          self._results[path] = time_written
          self.problems.append(f"{path} was written again")
      newest = self._newest.get(folder, -1)
      for attempt in [os.path.join(folder, name) for name in folders
                      if name.count("-") >= 2]:
        steps = _steps(attempt)
        if steps and attempt not in self._seen:
          self._seen.add(attempt)
          if steps[0] < self._began_at.get(attempt, -1):
            self.problems.append(
                f"{attempt} began with step {steps[0]}, though step "
                f"{self._began_at[attempt]} was saved")
        self._began_at.setdefault(attempt, newest)
        self._newest[folder] = max([self._newest.get(folder, -1)] + steps)

  def wait(self, secs):
    """Looks at the attempts for so long, or until the search has ended."""
    end = time.monotonic() + secs
    while time.monotonic() < end and self.driver.status is None:
      try:
        self.look()
      except FileNotFoundError:
        pass  # The iteration was joined meanwhile.
      time.sleep(.1)

  def kill(self, what):
    """Kills a worker, the driver, or both, and starts the driver again."""
    if what in ("worker", "both"):
      os.kill(random.choice(sorted(self._client.run(os.getpid).values())),
              signal.SIGKILL)
    if what in ("driver", "both"):
      self.driver.close()
      self._start()

  def end(self):
    """Waits until it has ended; returns its winners and its variables."""
    self.wait(_SECS)
    if self.driver.status != 0:
      self.problems.append(
          f"the driver ended with {self.driver.status}: {self.driver.log}")
    self.driver.close()
    if os.path.exists(os.path.join(self.model_dir, "parts")):
      self.problems.append("the folder parts is left")
    train = tf_compat.v1.train
    latest = train.latest_checkpoint(self.model_dir)
    if latest is None:
      return [], {}
    reader = train.NewCheckpointReader(latest)
    return ([record.winner
             for record in adanet.report(self.model_dir).iterations],
            {name: reader.get_tensor(name).tolist()
             for name in reader.get_variable_to_shape_map()})


def _test():
  """Runs searches until enough was killed; returns the exit status."""
  rng = random.Random(_SEED.value)
  random.seed(_SEED.value)
  left, bad = _KILLS.value, 0
  with engines.dask_client(2) as client:
    undisturbed = _Search(client, 0.)
    expected = undisturbed.end()
    if undisturbed.problems:
      print("; ".join(undisturbed.problems))
      return 1
    print(f"undisturbed: {', '.join(expected[0])}", flush=True)
    while left > 0:
      search, killed = _Search(client, _STEP_SECS.value), []
      while len(killed) < min(left, _KILLS_A_SEARCH):
        search.wait(rng.uniform(3, 12))
        if search.driver.status is not None:
          break
        what = rng.choice(["worker", "driver", "driver", "both"])
        search.kill(what)
        killed.append(what)
      found = search.end()
      if found[0] != expected[0]:
        search.problems.append(f"the winners are {found[0]}")
      elif found != expected:
        search.problems.append("variables have other values")
      left -= len(killed)
      bad += bool(search.problems)
      print(f"killed {', '.join(killed) or 'nothing'}: "
            f"{'; '.join(search.problems) or 'recovered'}", flush=True)
  print(f"{_KILLS.value - left} kills, {bad} searches have not recovered")
  return 1 if bad else 0


def main(unused_argv):
  if _DRIVE.value:
    _drive()
  else:
    sys.exit(_test())


if __name__ == "__main__":
  app.run(main)
