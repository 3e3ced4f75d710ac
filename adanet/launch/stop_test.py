# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Stops and kills jobs of small programs: nothing is left."""

import os
import signal
import time

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import launches
from adanet.testing import level
from adanet.testing import processes


def _parent(pid):
  with open(f"/proc/{pid}/stat") as f:
    return int(f.read().rpartition(")")[2].split()[1])


class StopTest(launches.LaunchTestCase, parameterized.TestCase):

  _BODY = """
def stop(number, _):
  print("stops", number)
  sys.exit(128 + number)
signal.signal(signal.SIGTERM, stop)
works()
touch(me)
time.sleep(1000)"""

  @parameterized.parameters(level.first([
      signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))
  def test_signal(self, number):
    self.write(self._BODY)
    launch = self.start(*(launches.SHAPE + (self.program,)))
    self.wait_for(*launches.TASKS)
    launch.process.send_signal(number)
    status, output, errors = launch.finish()
    self.assertEqual(128 + number, status, errors)
    self.assertCountEqual(
        [f"[{task}] stops 15" for task in launches.TASKS],
        output.splitlines())
    self.assertNotIn("failed", errors)
    self.assertEmpty(launch.left())

  @level.gate
  def test_nohup(self):
    self.write(self._BODY)
    launch = self.start(
        *(launches.SHAPE + (self.program,)),
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    self.wait_for(*launches.TASKS)
    launch.process.send_signal(signal.SIGHUP)
    launch.process.send_signal(signal.SIGTERM)
    self.assertEqual(143, launch.finish()[0])

  def test_children_of_a_task_end_after_it(self):
    self.write("""
child = subprocess.Popen(["sleep", "1000"])
def stop(*_):
  time.sleep(.5)
  print("child", child.poll())
  sys.exit(143)
signal.signal(signal.SIGTERM, stop)
touch(me)
time.sleep(1000)""")
    launch = self.start(*(launches.SHAPE + (self.program,)))
    self.wait_for(*launches.TASKS)
    launch.process.send_signal(signal.SIGTERM)
    self.assertCountEqual(
        [f"[{task}] child None" for task in launches.TASKS],
        launch.finish()[1].splitlines())
    self.assertEmpty(launch.left())

  @level.gate
  def test_stopped_task(self):
    self.write(self._BODY.replace(
        "time.sleep", "os.kill(os.getpid(), signal.SIGSTOP) if me == 'ps:0' "
        "else 0\ntime.sleep"))
    launch = self.start(*(launches.SHAPE + (self.program,)))
    self.wait_for(*launches.TASKS)
    launch.process.send_signal(signal.SIGTERM)
    self.assertIn("[ps:0] stops 15", launch.finish()[1])
    self.assertEmpty(launch.left())

  @level.gate
  def test_tasks_that_ignore_it_are_killed(self):
    self.write("signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" +
               launches.LEAVES_MORE + "touch(me)\ntime.sleep(1000)")
    launch = self.start(*(launches.SHAPE + (self.program,)))
    self.wait_for(*launches.TASKS)
    launch.process.send_signal(signal.SIGINT)
    launch.process.stderr.readline()  # It says that all tasks end.
    time.sleep(1)
    start = time.monotonic()
    launch.process.send_signal(signal.SIGINT)
    self.assertEqual(130, launch.finish()[0])
    self.assertLess(time.monotonic() - start, 8)
    self.assertEmpty(launch.left())

  @parameterized.parameters(False, True)
  @level.gate
  def test_while_the_chief_starts_again(self, saves):
    self.write("""
is_chief, is_again = me == "chief:0", me == "chief:0" and runs()
if is_again:
  touch("again")
  wait_for("go")
def stop(number, _):
  if is_chief:
    report("CheckpointSaved", path="c", global_step=30)
  print("stops", number)
  sys.exit(128 + number)
signal.signal(signal.SIGTERM, stop)
works()
if me == "worker:0":
  wait_for("again")
  report("Progress", iteration_number=0, global_step=30, steps={"a": 30},
         losses={}, steps_per_second=1., seconds_left=9.)
if is_chief and not is_again:
  report("CheckpointSaved", path="c", global_step=4)
  os.kill(os.getpid(), signal.SIGKILL)
touch(me)
time.sleep(1000)""")
    launch = self.start(*(launches.SHAPE + (self.program,)))
    self.wait_for("again", *launches.TASKS[1:])
    launch.process.send_signal(signal.SIGINT)
    time.sleep(1)  # A second Ctrl-C at once counts as the same.
    if saves:
      self.create_tempfile(os.path.join(self.folder, "go"))
    else:
      launch.process.send_signal(signal.SIGINT)
    status, output, errors = launch.finish()
    self.assertEqual(130, status, errors)
    self.assertIn("SIGINT: all tasks end now, within 60 s, when the chief has "
                  "started again and saved. Ctrl-C kills them.", errors)
    stopped = ["worker:0", "worker:1"]
    if saves:
      stopped += ["chief:0", "ps:0"]
    self.assertCountEqual([f"[{task}] stops 15" for task in stopped],
                          output.splitlines())
    self.assertEqual(
        not saves, "Stopped: step 4 is saved, and training goes on from there. "
        "30 steps that were trained since are lost." in errors, errors)
    self.assertEmpty(launch.left())

  @parameterized.parameters(level.first([True, False]))
  def test_killed(self, is_all):
    self.write(launches.LEAVES_MORE + "touch(me)\ntime.sleep(1000)")
    launch = self.start(*(launches.SHAPE + (self.program,)))
    self.wait_for(*launches.TASKS)
    before = launch.left()
    # 2 of the launcher, 4 tasks with 2 processes more.
    self.assertLen(before, 14)
    if is_all:
      # The child of the process that was started does not get it.
      os.kill(max(p for p in before if _parent(p) == launch.process.pid),
              signal.SIGKILL)
      self.assertEqual(137, launch.finish()[0])
      self.assertEmpty(launch.left())
    else:
      launch.process.kill()
      processes.wait_until(lambda: not launch.left(), "the end of all")

  def test_both_processes_killed(self):
    # The kernel ends the tasks.
    self.write("touch(me)\ntime.sleep(1000)")
    launch = self.start(*(launches.SHAPE + (self.program,)))
    self.wait_for(*launches.TASKS)
    first = launch.process.pid
    (second,) = (pid for pid in launch.left() if _parent(pid) == first)
    os.kill(first, signal.SIGSTOP)  # Now it cannot end what the other leaves.
    os.kill(second, signal.SIGKILL)
    os.kill(first, signal.SIGKILL)
    processes.wait_until(lambda: not launch.left(), "the end of all")


if __name__ == "__main__":
  absltest.main()
