# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the events of a cluster as those of one search."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import events
from adanet.core import selection
from adanet.progress import cluster


def _began(number=0, subnetworks=(), ensembles=(), global_step=0):
  return events.IterationBegan(number, subnetworks, ensembles, 100, global_step)


def _progress(steps, number=0, global_step=0, losses=None, speed=None,
              left=None):
  return events.Progress(
      number, global_step, steps, losses or {}, speed, left)


class MergedTest(absltest.TestCase):

  def test_each_trains_its_own(self):
    self.assertEqual(
        _progress({"ab": 9, "a": 5, "b": 7}, 1, 6,
                  {"ab": .1, "a": .5, "b": .7}, 3., 40.),
        cluster.merged({
            "worker:1": _progress({"b": 7}, 1, 5, {"b": .7}, 8., 20.),
            "chief:0": _progress({"ab": 9}, 1, 6, {"ab": .1}, 3., 10.),
            "worker:0": _progress({"a": 5}, 1, 4, {"a": .5}, 9., 40.),
        }))

  def test_all_train_the_same(self):
    merged = cluster.merged({
        "chief:0": _progress({"a": 5, "b": 5}, 0, 5, {"a": .5, "b": None}),
        "worker:0": _progress({"a": 7, "b": 5}, 0, 7, {"a": .4, "b": .6}),
        "worker:1": _progress({"a": 6, "b": 6}, 0, 6, {"a": None})})
    self.assertEqual({"a": 7, "b": 6}, merged.steps)
    self.assertEqual({"a": .4, "b": .6}, merged.losses)
    self.assertEqual(7, merged.global_step)

  def test_late_task_is_in_the_iteration_before(self):
    merged = cluster.merged({
        "chief:0": _progress({"old": 5}, 0, 5, speed=1., left=9.),
        "worker:0": _progress({"new": 1}, 1, 6, speed=2.)})
    self.assertEqual(_progress({"new": 1}, 1, 6, speed=2.), merged)

  def test_fastest_speed_if_the_chief_knows_none(self):
    self.assertEqual(4., cluster.merged({
        "chief:0": _progress({}), "worker:0": _progress({"a": 1}, speed=2.),
        "worker:1": _progress({"b": 1}, speed=4.)}).steps_per_second)


class ClusterProgressTest(parameterized.TestCase):

  def _shown(self, *added, **kwargs):
    merging = cluster.ClusterProgress(**kwargs)
    return [merging.add(task, event) for task, event in added]

  def test_begins_once_when_all_did(self):
    shown = self._shown(
        ("worker:0", _began(0, ("a",))),
        ("chief:0", _began(0, (), ("a_grow",), 7)),
        ("worker:1", _began(0, ("b",))),
        ("worker:1", _began(0, ("b",))),
        ("worker:1", _progress({"b": 1})),
        training=["chief:0", "worker:0", "worker:1"])
    self.assertEqual(
        [[], [], [_began(0, ("a", "b"), ("a_grow",), 7)], [],
         [_progress({"b": 1})]], shown)

  def test_begins_with_the_first_progress(self):
    shown = self._shown(
        ("chief:0", _began(0, ("a", "b"), ("a_grow",))),
        ("worker:0", _progress({"a": 1})),
        ("worker:0", _progress({"a": 2})))
    self.assertEqual(
        [[], [_began(0, ("a", "b"), ("a_grow",)), _progress({"a": 1})],
         [_progress({"a": 2})]], shown)

  def test_late_task(self):
    shown = self._shown(
        ("chief:0", _began(0, (), ("a_grow",))),
        ("chief:0", _progress({"a_grow": 1})),
        ("worker:0", _began(0, ("a",))),
        ("worker:0", _progress({"a": 1})))
    self.assertEqual([_began(0, ("a",), ("a_grow",))], shown[2])
    self.assertEqual({"a_grow": 1, "a": 1}, shown[3][0].steps)

  def test_next_iteration(self):
    shown = self._shown(
        ("chief:0", _began(0, ("a",))), ("chief:0", _progress({"a": 1})),
        ("worker:0", _progress({"b": 1}, 1)),
        ("chief:0", _progress({"a": 1})), ("chief:0", _began(0, ("a", "c"))),
        ("chief:0", _began(1, ("b",), (), 5)),
        ("worker:0", _progress({"b": 2}, 1)))
    self.assertEqual(
        [[_progress({"b": 1}, 1)], [], [], [],
         [_began(1, ("b",), (), 5), _progress({"b": 2}, 1)]], shown[2:])

  def test_each_end_is_shown_once(self):
    ended = events.IterationEnded(0, selection.Choice(0, "a"), 1.)
    stopped = events.Stopped(0, "a", "Over.")
    over = events.TrainingEnded(5, "over")
    shown = self._shown(
        ("worker:0", stopped), ("chief:0", stopped),
        ("chief:0", events.Stopped(1, "a", "Over.")),
        ("chief:0", ended), ("chief:0", ended), ("worker:0", over),
        ("chief:0", over))
    self.assertEqual(
        [[stopped], [], [events.Stopped(1, "a", "Over.")], [ended], [], [],
         [over]], shown)

  @parameterized.parameters(
      (events.Resumed(0, 5, "c"),), (events.CheckpointSaved("c", 5),),
      (events.TrainingEnded(5, "over"),))
  def test_word_of_the_chief(self, event):
    self.assertEqual(
        [[], [], [event]],
        self._shown(("chief:0", event), ("worker:1", event),
                    ("worker:0", event), chief="worker:0"))

  def test_steps_may_be_fewer_after_a_restore(self):
    shown = self._shown(
        ("worker:0", _progress({"a": 9}, 0, 9)),
        ("chief:0", events.Resumed(0, 5, "c")),
        ("chief:0", _progress({"a": 5})))
    self.assertEqual({"a": 5}, shown[2][0].steps)

  def test_a_chief_that_goes_on_with_the_variables(self):
    shown = self._shown(
        ("worker:0", _progress({"a": 9}, 0, 9)),
        ("chief:0", events.Resumed(0, 9, "c")),
        ("chief:0", _progress({"b": 5}, 0, 9)))
    self.assertEqual({"a": 9, "b": 5}, shown[2][0].steps)

  def test_time_left_of_a_lost_task(self):
    merging = cluster.ClusterProgress()
    self.assertEmpty(merging.lose("chief:0"))
    merging.add("worker:0", _progress({"b": 1}, speed=2., left=60.))
    merging.add("chief:0", _progress({"a": 1}, speed=1., left=126.))
    (shown,) = merging.lose("chief:0")
    self.assertEqual({"a": 1, "b": 1}, shown.steps)
    self.assertEqual((2., 60.), (shown.steps_per_second, shown.seconds_left))
    (shown,) = merging.add("worker:0", _progress({"b": 2}, speed=2., left=59.))
    self.assertEqual(59., shown.seconds_left)
    self.assertIsNone(merging.lose("worker:0")[0].seconds_left)

  def test_what_is_lost(self):
    merging = cluster.ClusterProgress()
    self.assertEqual("Stopped before the first checkpoint.", merging.lost())
    merging.add("worker:0", _progress({"t0_a": 4}, 0, 4))
    self.assertEqual("Stopped before the first checkpoint. 4 steps that were "
                     "trained since are lost.", merging.lost())
    merging.add("chief:0", events.CheckpointSaved("c", 5))
    saved = "Stopped: step 5 is saved, and training goes on from there."
    self.assertEqual(saved, merging.lost())
    merging.add("worker:0", _progress({"t0_a": 9, "t0_b": 1}, 0, 9))
    self.assertEqual(
        saved + " 5 steps that were trained since are lost.", merging.lost())
    merging.add("chief:0", events.Resumed(0, 5, "c"))
    self.assertEqual(saved, merging.lost())
    merging.add("worker:0", _progress({"t1_a": 3}, 1, 8))
    self.assertEqual(
        saved + " 3 steps that were trained since are lost.", merging.lost())

  def test_another_training(self):
    progress = cluster.ClusterProgress()
    ended = events.TrainingEnded(9, "the reason")
    self.assertLen(progress.add("chief:0", _progress({"a": 9}, 1)), 1)
    self.assertEmpty(progress.add("chief:0", events.Joined("/m", 2)))
    # Its search is another one. This worker is late.
    progress.add("worker:0", events.Joined("/m", 1))
    self.assertEmpty(progress.add("worker:0", _progress({"a": 9}, 1)))
    self.assertEqual([_progress({"b": 1})],
                     progress.add("chief:0", _progress({"b": 1})))
    progress.add("worker:0", events.Joined("/m", 2))
    self.assertEqual(
        [_progress({"b": 1, "c": 2})],
        progress.add("worker:0", _progress({"c": 2})))
    self.assertEqual([ended], progress.add("chief:0", ended))

  def test_working_is_not_shown(self):
    self.assertEqual(
        [[]], self._shown(("chief:0", events.Working("chief:0"))))


if __name__ == "__main__":
  absltest.main()
