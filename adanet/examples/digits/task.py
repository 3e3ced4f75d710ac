# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""One task of a cluster that trains the digits.

A worker builds the part of the graph that its placement strategy gives it, the
chief trains the mixture weights of the ensemble, and a ps holds variables. How
far a task has come it prints, as one JSON object a line; its own record of what
it built goes to `<model_dir>/records`.
"""

import errno
import json
import os
import socket
import time

from adanet import tf_compat
from adanet.distributed import devices
from adanet.examples.digits import candidates
from adanet.examples.digits import networks
from adanet.tf_compat import v1 as tf

_REPORT_SECS = .25
_SESSION_WAIT_SECS = 120


class UserError(Exception):
  """What a user can mend, in one line."""


def _check_port_is_free(address):
  """TensorFlow would say the same in many lines, and not which port it is."""
  port = address.rpartition(":")[2]
  if not port.isdigit() or not 0 < int(port) < 2**16:
    raise UserError("TF_CONFIG: {}: expected a host and a port from 1 to "
                    "65535, as in host:2222.".format(address))
  try:
    with socket.socket(socket.AF_INET6) as s:
      s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
      s.bind(("", int(port)))
  except OSError as e:
    if e.errno == errno.EADDRINUSE:
      raise UserError("{}: another program has the port. Free it, or give this "
                      "task another address.".format(address)) from e


def _start_server(config):
  """Starts this task's TensorFlow server, on every interface of the machine."""
  _check_port_is_free(
      config.cluster_spec.task_address(config.task_type, config.task_id))
  return tf.train.Server(
      config.cluster_spec,
      config.task_type,
      config.task_id,
      config=config.session_config)


class _Graph(object):
  """The part of the graph that one worker builds.

  Attributes:
    subnetworks: list of `networks.Network`.
    ensemble: `networks.Network`, or None.
    trained: list of the `networks.Network` that this worker trains.
    pixels: float32 [batch_size, 64], what the networks look at.
  """

  def __init__(self, strategy, images):
    num_subnetworks = len(candidates.CANDIDATES)
    built = [
        i for i in range(num_subnetworks)
        if strategy.should_build_subnetwork(num_subnetworks, i)
    ]
    # One batch feeds all that this worker builds: each has the same share.
    batch = networks.next_batch(
        images, strategy.input_context(num_subnetworks, built[0]))
    self.pixels = tf.placeholder_with_default(batch.pixels, [None, 64])
    batch = batch._replace(pixels=self.pixels)
    self.subnetworks = []
    for i in built:
      with strategy.subnetwork_devices(num_subnetworks, i):
        self.subnetworks.append(
            networks.build_subnetwork(candidates.CANDIDATES[i], batch))
    self.ensemble = None
    self.trained = []
    if strategy.should_train_subnetworks(num_subnetworks):
      self.trained += self.subnetworks
    if strategy.should_build_ensemble(num_subnetworks):
      self.ensemble = networks.build_ensemble(self.subnetworks, batch)
      self.trained.append(self.ensemble)

  @property
  def networks(self):
    return self.subnetworks + ([self.ensemble] if self.ensemble else [])


def _write_record(config, graph, steps, accuracy):
  """Writes what this task built and trained, and where its variables live.

  Args:
    config: the task's `RunConfig`.
    graph: a `_Graph`.
    steps: dict from network to the steps it has taken, in the end; or None.
    accuracy: dict from network to the share of held-out images that it reads
      right, on the chief in the end; or None.
  """
  record = {
      "task": "{}:{}".format(config.task_type, config.task_id),
      "builds": [n.name for n in graph.networks],
      "trains": [n.name for n in graph.trained],
      "steps": steps,
      "accuracy": accuracy,
      "variables": {
          v.op.name: {
              "device": v.device,
              "bytes": v.shape.num_elements() * v.dtype.size,
          } for v in tf.global_variables()
      },
  }
  folder = os.path.join(config.model_dir, "records")
  name = "{}-{}.json".format(config.task_type, config.task_id)
  try:
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
      json.dump(record, f)
  except OSError as e:
    raise UserError("--model_dir={}: {}: expected a folder to write to.".format(
        config.model_dir, e.strerror)) from e


class _WorkerSessionCreator(object):
  """Waits for the chief. TensorFlow's own looks for it only every 30 s."""

  def __init__(self, master, config):
    self._master = master
    self._config = config

  def create_session(self):
    scaffold = tf.train.Scaffold().finalize()
    manager = tf.train.SessionManager(
        local_init_op=scaffold.local_init_op,
        ready_op=scaffold.ready_op,
        ready_for_local_init_op=scaffold.ready_for_local_init_op,
        recovery_wait_secs=.5)
    return manager.wait_for_session(
        self._master, self._config, max_wait_secs=_SESSION_WAIT_SECS)


def _session(config, master):
  """Returns the session of this worker, whose chief saves checkpoints."""
  if not config.is_chief:
    return tf.train.MonitoredSession(
        _WorkerSessionCreator(master, config.session_config))
  return tf.train.MonitoredTrainingSession(
      master,
      checkpoint_dir=config.model_dir,
      config=config.session_config,
      save_checkpoint_secs=60,
      save_summaries_steps=None,
      save_summaries_secs=None,
      log_step_count_steps=None)


def _train(session, graph, max_steps):
  """Trains until all that this worker builds has taken its steps.

  The ensemble goes on for as long as a subnetwork that it mixes does.

  Args:
    session: a session.
    graph: a `_Graph`.
    max_steps: int, the steps of each network, in all workers together.

  Returns:
    dict from network to the steps it has taken.
  """
  # An earlier run in the same folder may have taken some or all of them.
  steps = {
      name: int(step) for name, step in session.run(
          {n.name: n.step for n in graph.networks}).items()
  }
  reported = 0.
  while min(steps.values()) < max_steps:
    active = [
        n for n in graph.trained
        if n is graph.ensemble or steps[n.name] < max_steps
    ]
    values = session.run({
        n.name: (n.train_op if n in active else n.step, n.loss)
        for n in graph.networks
    })
    steps = {name: int(step) for name, (step, _) in values.items()}
    is_last = min(steps.values()) >= max_steps
    if is_last or time.monotonic() - reported > _REPORT_SECS:
      reported = time.monotonic()
      progress = {
          name: {
              "step": int(step),
              "loss": float(loss)
          } for name, (step, loss) in values.items()
      }
      print(json.dumps(progress), flush=True)
  return steps


def _accuracy(session, graph, images):
  """Returns network -> the share of images that it reads right."""
  logits = session.run({n.name: n.logits for n in graph.networks},
                       {graph.pixels: images.pixels})
  return {
      name: float((values.argmax(-1) == images.labels).mean())
      for name, values in logits.items()
  }


def _work(strategy, master, max_steps):
  """Builds, trains, and on the chief measures, what is this worker's."""
  config = strategy.config
  training, held_out = networks.load_images()
  num_ps = config.num_ps_replicas
  setter = tf.train.replica_device_setter(
      ps_tasks=num_ps,
      worker_device="/job:{}/task:{}".format(config.task_type, config.task_id),
      ps_strategy=devices.OpNameHashStrategy(num_ps))
  with tf.Graph().as_default(), tf.device(setter):
    graph = _Graph(strategy, training)
    _write_record(config, graph, steps=None, accuracy=None)
    with _session(config, master) as session:
      steps = _train(session, graph, max_steps)
      accuracy = (
          _accuracy(session, graph, held_out) if config.is_chief else None)
    _write_record(config, graph, steps, accuracy)


def run(strategy, max_steps):
  """Runs the task of the strategy's config; that of a ps does not return.

  Args:
    strategy: a `PlacementStrategy`. Checkpoints and records go to the
      `model_dir` of its config.
    max_steps: int, the steps of each network, in all workers together.

  Raises:
    UserError: something that a user can mend.
  """
  tf.logging.set_verbosity(tf.logging.WARN)
  config = strategy.config
  try:
    server = _start_server(config)
    if config.task_type == tf_compat.TaskType.PS:
      server.join()
    _work(strategy, server.target, max_steps)
  except tf.errors.OpError as e:
    if os.strerror(errno.ENOSPC) not in str(e):
      raise
    raise UserError("--model_dir={}: {}: free some, or choose another folder."
                    .format(config.model_dir, os.strerror(errno.ENOSPC))) from e
