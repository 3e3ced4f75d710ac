# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""One task of the digits job.

A ps holds variables. A worker builds and trains its share of the networks, as
the placement strategy says. It prints its progress, and at the end a record of
what it did, to standard output: a JSON object in each line.
"""

import errno
import json
import os
import sys
import time

from adanet import tf_compat
from adanet.distributed import devices
from adanet.examples.digits import networks
from adanet.tf_compat import v1 as tf

_REPORT_SECS = .25
_CHIEF_WAIT_SECS = 600


class _Graph(object):
  """The graph of one worker: its share of the networks.

  Attributes:
    networks: list of `networks.Network`, all that this worker builds.
    ensemble: `networks.Network`, the last of `networks`; or None.
    trained: list of the `networks.Network` that this worker trains.
    pixels: float32 [batch_size, 64], the input of the networks.
  """

  def __init__(self, strategy, hidden_units, images):
    num_subnetworks = len(hidden_units)
    built = [
        i for i in range(num_subnetworks)
        if strategy.should_build_subnetwork(num_subnetworks, i)
    ]
    # All subnetworks of a worker have the same share of the input.
    batch = networks.next_batch(
        images, strategy.input_context(num_subnetworks, built[0]))
    self.pixels = tf.placeholder_with_default(batch.pixels, [None, 64])
    batch = batch._replace(pixels=self.pixels)
    subnetworks = []
    for i, (name, units) in enumerate(hidden_units.items()):
      if i in built:
        with strategy.subnetwork_devices(num_subnetworks, i):
          subnetworks.append(networks.build_subnetwork(name, units, batch))
    self.networks = list(subnetworks)
    self.trained = []
    self.ensemble = None
    if strategy.should_train_subnetworks(num_subnetworks):
      self.trained += subnetworks
    if strategy.should_build_ensemble(num_subnetworks):
      self.ensemble = networks.build_ensemble(subnetworks, batch)
      self.networks.append(self.ensemble)
      self.trained.append(self.ensemble)


def _record(config, graph, accuracy):
  """Returns the record of this worker; see `report.show`."""
  variables = tf.global_variables()
  return {
      "task": "{}:{}".format(config.task_type, config.task_id),
      # All variables of a network are in the scope with its name.
      "builds": list({v.op.name.partition("/")[0]: None for v in variables}),
      "trains": [n.name for n in graph.trained],
      "variables": {
          v.op.name: {
              "device": v.device,
              "bytes": v.shape.num_elements() * v.dtype.size,
          } for v in variables
      },
      "accuracy": accuracy,
  }


def _session(config, master):
  """Returns the session of this worker. That of the chief saves checkpoints."""
  if not config.is_chief:
    # TensorFlow's own wait for the chief checks only every 30 s.
    uninitialized = tf.report_uninitialized_variables()
    with tf.Session(master, config=config.session_config) as session:
      give_up = time.monotonic() + _CHIEF_WAIT_SECS
      while session.run(uninitialized).size:
        if time.monotonic() > give_up:
          sys.exit("digits: the chief has not initialized the variables in {} "
                   "s. Start it, or see what it prints.".format(
                       _CHIEF_WAIT_SECS))
        time.sleep(.5)
  return tf.train.MonitoredTrainingSession(
      master,
      is_chief=config.is_chief,
      checkpoint_dir=config.model_dir,
      config=config.session_config,
      save_checkpoint_secs=60,
      save_summaries_steps=None,
      save_summaries_secs=None,
      log_step_count_steps=None)


def _train(session, graph, max_steps):
  """Trains until each network of this worker has taken its steps.

  Other workers train some of them. Meanwhile, the ensemble goes on.

  Args:
    session: a session.
    graph: a `_Graph`.
    max_steps: int, the steps of each network, over all workers.
  """
  # A checkpoint of an earlier run may contain some or all of the steps.
  steps = session.run({n.name: n.step for n in graph.networks})
  report_time = 0.
  while min(steps.values()) < max_steps:
    results = session.run({
        n.name: (n.train_op if n in graph.trained and
                 (n is graph.ensemble or steps[n.name] < max_steps) else n.step,
                 n.loss) for n in graph.networks
    })
    steps = {name: step for name, (step, _) in results.items()}
    if (time.monotonic() - report_time > _REPORT_SECS or
        min(steps.values()) >= max_steps):
      report_time = time.monotonic()
      progress = {
          name: {"step": int(step), "loss": float(loss)}
          for name, (step, loss) in results.items()
      }
      print(json.dumps({"progress": progress}), flush=True)


def _work(strategy, master, hidden_units, max_steps):
  """Builds and trains the share of this worker; the chief also evaluates."""
  config = strategy.config
  training, held_out = networks.load_images()
  num_ps = config.num_ps_replicas
  setter = tf.train.replica_device_setter(
      ps_tasks=num_ps,
      worker_device="/job:{}/task:{}".format(config.task_type, config.task_id),
      ps_strategy=devices.OpNameHashStrategy(num_ps))
  with tf.Graph().as_default(), tf.device(setter):
    graph = _Graph(strategy, hidden_units, training)
    with _session(config, master) as session:
      _train(session, graph, max_steps)
      accuracy = None
      if config.is_chief:
        logits = session.run({n.name: n.logits for n in graph.networks},
                             {graph.pixels: held_out.pixels})
        accuracy = {
            name: float((values.argmax(-1) == held_out.labels).mean())
            for name, values in logits.items()
        }
    record = _record(config, graph, accuracy)
    print(json.dumps({"record": record}), flush=True)


def run(strategy, hidden_units, max_steps):
  """Runs the task of the strategy's config. On a ps, it does not return.

  Args:
    strategy: a `PlacementStrategy` with a config. Checkpoints are written to
      the `model_dir` of the config.
    hidden_units: dict from the name of a subnetwork to a tuple of int, the
      widths of its hidden layers.
    max_steps: int, the steps of each network, over all workers.

  Raises:
    OSError: a file cannot be written, for example because the disk is full.
  """
  tf.logging.set_verbosity(tf.logging.WARN)
  config = strategy.config
  try:
    server = tf.train.Server(
        config.cluster_spec, config.task_type, config.task_id,
        config=config.session_config)
    if config.task_type == tf_compat.TaskType.PS:
      server.join()
    _work(strategy, server.target, hidden_units, max_steps)
  except tf.errors.OpError as e:
    disk_full = os.strerror(errno.ENOSPC)
    if disk_full not in str(e):
      raise
    raise OSError(errno.ENOSPC, disk_full, config.model_dir) from e
