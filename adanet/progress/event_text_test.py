# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of events as text, of short names, and of the time that is left."""

import math

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import events
from adanet.core import selection
from adanet.progress import event_text

_REGULARIZED = "_grow_complexity_regularized"
_RATE = 10.  # Steps a second. An iteration has 100 steps.


def _began(number, num_iterations=3, last_step=None, max_steps=100):
  return events.IterationBegan(
      number, ("a",), (), max_steps, 100 * number, num_iterations, last_step)


def _progress(number, step, rate=_RATE, left=True):
  return events.Progress(
      number, 100 * number + step, {"a": step}, {}, rate,
      (100 - step) / rate if left and rate else None)


class EventTextTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("began",
       events.IterationBegan(1, ("a", "b"), ("a_grow",), 100, 50),
       "Iteration 1 begins at step 50: 2 subnetworks (a, b), 1 ensemble "
       "(a_grow), 100 steps each."),
      ("began_of_some",
       events.IterationBegan(0, ("a",), ("a_grow_mean", "b_grow_mean"), 10, 0,
                             3),
       "Iteration 0 (1 of 3) begins at step 0: 1 subnetwork (a), 2 ensembles "
       "named .._grow_mean (a.., b..), 10 steps each."),
      ("began_before_a_last_step",
       events.IterationBegan(1, (), (), None, 5, 3, 20),
       "Iteration 1 (2 of at most 3) begins at step 5."),
      ("began_with_many",
       events.IterationBegan(0, tuple("abcde"), tuple("fgh"), None, 0),
       "Iteration 0 begins at step 0: 5 subnetworks (a, b, c and 2 more), 3 "
       "ensembles (f, g, h)."),
      ("began_without_subnetworks",
       events.IterationBegan(0, (), ("f",), 5, 0),
       "Iteration 0 begins at step 0: 1 ensemble (f), 5 steps each."),
      ("resumed", events.Resumed(2, 250, "/m/model.ckpt-250"),
       "Resumed from step 250 of iteration 2 (/m/model.ckpt-250)."),
      ("resumed_from_a_name_that_was_taken",
       events.Resumed(2, 250, "/m/model.ckpt-250.1"),
       "Resumed from step 250 of iteration 2 (/m/model.ckpt-250.1)."),
      ("resumed_from_the_begin_of_an_iteration",
       events.Resumed(2, 250, "/m/increment.ckpt-2"),
       "Resumed from step 250 of iteration 2 (/m/increment.ckpt-2)."),
      ("resumed_from_what_workers_trained_on",
       events.Resumed(2, 252, "/m/model.ckpt-250"),
       "Resumed from step 252 of iteration 2 (/m/model.ckpt-250: its saving "
       "began at step 250)."),
      ("resumed_with_variables_that_were_kept",
       events.Resumed(0, 4000, "/m/model.ckpt-1511", 1511),
       "Resumed at step 4000 of iteration 0, whose variables the parameter "
       "servers have kept. The last checkpoint is of step 1511 "
       "(/m/model.ckpt-1511)."),
      ("progress",
       events.Progress(0, 30, {"a": 30, "b": 9}, {"a": .25, "b": None}, 12.345,
                       65.),
       "Iteration 0: step 30, 12.3 steps/s. Loss: a 0.25."),
      ("progress_of_which_little_is_known",
       events.Progress(0, 30, {"a": 30}, {}), "Iteration 0: step 30."),
      ("no_progress", events.Progress(0, 0, {"a": 0}, {}, 0.),
       "Iteration 0: step 0."),
      ("stopped", events.Stopped(0, "a", "The input ended."),
       "Iteration 0: a trains no further: The input ended."),
      ("saved", events.CheckpointSaved("/m/model.ckpt-5", 5),
       "Saved the checkpoint of step 5: /m/model.ckpt-5."),
      ("ended",
       events.IterationEnded(
           3, selection.choose(["a", "b"], [.5, .75]), 12.3, "error"),
       "Iteration 3 ended after 0:12: a won with error 0.5, 0.25 better than "
       "b, the next best of 2 candidates."),
      ("undecided",
       events.IterationUndecided(
           3, 40, selection.choose(["a", "b"], [.5, .75]), "error"),
       "Iteration 3 has no winner yet at step 40, the last one: a leads with "
       "error 0.5, 0.25 better than b, the next best of 2 candidates. "
       "evaluate, predict and exports use it. To decide, train for more steps, "
       "or set max_iterations and no max_steps."),
      ("undecided_with_an_evaluator",
       events.IterationUndecided(3, 40, None, "error"),
       "Iteration 3 has no winner yet at step 40, the last one: evaluate, "
       "predict and exports use the ensemble whose error is the best now, by "
       "the evaluator. To decide, train for more steps, or set max_iterations "
       "and no max_steps."),
      ("training_ended", events.TrainingEnded(7, "the input ended"),
       "Training ended at step 7: the input ended."),
      ("joined", events.Joined("/m"), "The search is in /m."),
      ("working", events.Working("worker:1"), "worker:1 works."))
  def test_line(self, event, text):
    self.assertEqual([text], self._lines(event))

  def _lines(self, *event_list):
    """Returns the lines of events, of which one comes each second."""
    lines = []
    texts = event_text.EventText(lambda: float(len(lines)))
    for event in event_list:
      texts.take(event)
      lines.append(texts.line(event))
    return lines

  def test_iteration(self):
    ensembles = tuple(f"t0_{name}_grow_mean" for name in "abc")
    lines = self._lines(
        events.IterationBegan(0, ("t0_a",), ensembles, 100, 0, 3),
        events.Progress(0, 10, {"t0_a": 10}, {}, 10., 9.),
        events.Progress(0, 20, {"t0_a": 20}, {
            "t0_a": .5, ensembles[0]: .25}, 10., 8.),
        events.Stopped(0, ensembles[2], "Its loss is NaN."),
        events.IterationEnded(
            0, selection.choose(ensembles, [.5, .75, math.nan]), 9.))
    self.assertEqual([
        "Iteration 0 (1 of 3): step 10, 10 steps/s.",
        "Iteration 0 (1 of 3): step 20, 10 steps/s, 0:08 left (search: about "
        "0:28). Loss: t0_a 0.5, t0_a.. 0.25.",
        "Iteration 0: t0_c.. trains no further: Its loss is NaN.",
        "Iteration 0 ended after 0:09: t0_a.. won with adanet_loss 0.5, 0.25 "
        "better than t0_b.., the next best of 2 candidates; NaN: t0_c...",
    ], lines[1:])

  def test_last_step(self):
    self.assertEqual(
        "Iteration 0: step 20, 10 steps/s, 0:08 left.",
        self._lines(
            events.IterationBegan(0, ("a",), (), None, 0, None, 100),
            events.Progress(0, 10, {"a": 10}, {}, 10., None),
            events.Progress(0, 20, {"a": 20}, {}, 10., None))[2])

  def test_something_else(self):
    with self.assertRaisesRegex(TypeError, "^event='a': expected one of"):
      self._lines("a")


class NamesTest(parameterized.TestCase):

  def test_ensembles_of_an_iteration(self):
    names = event_text.Names(
        f"t{t}_dnn{_REGULARIZED}" for t in range(3))
    self.assertEqual("t1_dnn..", names.short("t1_dnn" + _REGULARIZED))
    self.assertEqual(f" named ..{_REGULARIZED}", names.meaning)
    # A subnetwork, and an ensemble of another iteration.
    for name in ("t1_dnn", "t3_dnn" + _REGULARIZED):
      self.assertEqual(name, names.short(name))

  @parameterized.parameters(
      (["a_grow_mean", "a_solo_mean"], ["a_grow_mean", "a_solo_mean"]),
      (["a_grow_complex", "a_solo_complex"], ["a_grow..", "a_solo.."]),
      (["a_grow_complex", "a_grow_mean"], ["a_grow_complex", "a_grow_mean"]),
      (["one_grow_complex"], ["one_grow_complex"]),
      (["t0_all_mean", "t1_all_mean"], ["t0..", "t1.."]),
      ([f"{name}_grow_b_solo_mean" for name in "ac"],
       ["a_grow_b..", "c_grow_b.."]),
      (["_grow_mean", "a_grow_mean"], ["_grow_mean", "a_grow_mean"]),
      (["a", "b"], ["a", "b"]), ([], []))
  def test_end(self, ensembles, expected):
    names = event_text.Names(ensembles)
    self.assertEqual(expected, [names.short(name) for name in ensembles])

  def test_width(self):
    names = event_text.Names(
        f"t0_a_long_name_{i}_grow_mean" for i in range(2))
    self.assertEqual(
        "t0_a_.._1..", names.short("t0_a_long_name_1_grow_mean", 11))


class RemainingTest(parameterized.TestCase):

  def _left(self, *timed_events):
    """Returns what is left after pairs of a time and an event.

    The last one comes also 2 s earlier.
    """
    estimate = event_text.Remaining()
    now, last = timed_events[-1]
    for time, event in timed_events[:-1] + ((now - 2., last), (now, last)):
      estimate.take(event, time)
    return tuple(estimate.left(last, now))

  def test_first_iteration(self):
    # 7 s of 10 s are left, and two iterations of as many.
    self.assertEqual((7., 27.), self._left(
        (0., _began(0)), (3., _progress(0, 30))))

  def test_iterations_slow_down(self):
    # It began 2 s after the last step of the one before, and is half as fast.
    self.assertEqual((10., 10. + 2. + 20.), self._left(
        (0., _began(0)), (10., _progress(0, 100)), (12., _began(1)),
        (22., _progress(1, 50, rate=5.))))

  def test_last_iteration(self):
    self.assertEqual((4., None), self._left(
        (0., _began(2)), (6., _progress(2, 60))))

  def test_resumed(self):
    # Only half of it was trained here.
    self.assertEqual((2., 12.), self._left(
        (0., events.Resumed(1, 150, "c")), (1., _began(1)),
        (4., _progress(1, 80))))

  def test_late_task(self):
    self.assertEqual((7., 27.), self._left(
        (0., _began(0)), (2., _began(0)), (3., _progress(0, 30))))

  @parameterized.parameters(
      (dict(num_iterations=None), 3., (7., None)),
      (dict(num_iterations=None, last_step=230), 3., (7., 20.)),
      (dict(last_step=230), 3., (7., 20.)),
      (dict(last_step=50), 3., (2., None)),
      (dict(last_step=900), 3., (7., 27.)),
      (dict(max_steps=None), 3., (7., None)))
  def test_what_ends_training(self, arguments, now, expected):
    self.assertEqual(expected, self._left(
        (0., _began(0, **arguments)), (now, _progress(0, 30))))

  @parameterized.parameters(
      (_progress(0, 30, rate=None), (None, None)),
      (_progress(0, 30, left=False), (None, None)))
  def test_what_is_not_known(self, progress, expected):
    self.assertEqual(expected, self._left((0., _began(0)), (3., progress)))

  def test_input_decides(self):
    self.assertEqual((20., None), self._left(
        (0., _began(0, None, 230, None)), (3., _progress(0, 30, left=False))))

  @parameterized.parameters((.5, (None, None)), (1.5, (7., 7. + 2 * 8.5)))
  def test_first_step_takes_longer(self, secs, expected):
    estimate = event_text.Remaining()
    estimate.take(_began(0), 0.)
    estimate.take(_progress(0, 1), 0.)
    estimate.take(_progress(0, 30), secs)
    self.assertEqual(expected, tuple(estimate.left(_progress(0, 30), secs)))

  def test_beginning_is_not_known(self):
    self.assertEqual((7., None), self._left((3., _progress(0, 30))))


if __name__ == "__main__":
  absltest.main()
