# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs jobs of small programs: how they end, and that nothing is left."""

import os
import re
import signal
import socket
import time

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import launches

_SHAPE = ("--workers=2", "--ps=1")
_ALL = ("chief:0", "worker:0", "worker:1", "ps:0")

# It starts programs that do not want to end, one outside of its session.
_LEAVES_MORE = """
more = [sys.executable, "-c",
        "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in "
        "(signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]; print('there', "
        "flush=True); time.sleep(1000)"]
for is_far in (False, True):
  assert b"there" in subprocess.Popen(
      more, stdout=subprocess.PIPE, start_new_session=is_far).stdout.readline()
"""


class LocalTestCase(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path
    self.program = os.path.join(self.folder, "train.py")

  def write(self, body):
    self.create_tempfile(self.program, launches.PREAMBLE + body)

  def exists(self, *names):
    return all(os.path.exists(os.path.join(self.folder, n)) for n in names)

  def wait_for(self, *names):
    launches.wait_until(lambda: self.exists(*names), ", ".join(names))

  def start(self, *args, **kwargs):
    return self.enter_context(launches.Launch(*args, **kwargs))

  def run_job(self, body, *args, **kwargs):
    """Runs a program to its end, after which nothing may be left."""
    self.write(body)
    launch = self.start(*(_SHAPE + args + (self.program,)), **kwargs)
    result = launch.finish()
    self.assertEmpty(launch.left(), result)
    return result


class EndTest(LocalTestCase):

  def test_all_tasks(self):
    status, output, errors = self.run_job(
        "print(me, sys.argv[1:], os.environ['ADANET_JOB_ID'],\n"
        "      os.environ['CUDA_VISIBLE_DEVICES'],\n"
        "      os.environ['TF_CPP_MIN_LOG_LEVEL'], sep='|')",
        "--evaluator", "--private_network")
    self.assertEqual(0, status, errors)
    lines = sorted(output.splitlines())
    jobs = {line.split("|")[2] for line in lines}
    self.assertLen(jobs, 1, lines)
    self.assertEqual(
        ["[{0}] {0}|[]|{1}|-1|2".format(task, "".join(jobs)) for task in
         ("chief:0", "evaluator:0", "ps:0", "worker:0", "worker:1")], lines)

  def test_quiet(self):
    self.assertEqual((0, ""), self.run_job("")[:2])

  def test_one_warning_names_the_open_ports(self):
    _, output, errors = self.run_job(
        "print(os.environ['TF_CONFIG'])", "--noprivate_network")
    ports = set(re.findall(r"127\.0\.0\.1:(\d+)", output))
    self.assertLen(ports, 4)
    self.assertRegex(errors, "^adanet-launch: The network is not private.*\n$")
    for port in ports:
      self.assertIn(port, errors)
      with self.assertRaises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(port)))

  def test_error_before_work_ends_the_job(self):
    status, _, errors = self.run_job("""
print("It", "begins", me)
if me == "worker:1":
  for i in range(30):
    print("line", i)
  launch_the_rocket()
time.sleep(1000)""")
    self.assertEqual(1, status)
    _, _, message = errors.partition("adanet-launch: ")
    first, *lines = message.splitlines()
    self.assertEqual(
        "worker:1 failed first: exit status 1, before it began to work. The "
        "last lines that it printed:", first)
    lines = [line for line in lines if line.startswith("  ")]
    self.assertLen(lines, 20)
    self.assertIn("  line 29", lines)
    self.assertIn("launch_the_rocket", lines[-1])
    self.assertNotIn("starts again", errors)

  def test_no_way_to_the_internet(self):
    status, _, errors = self.run_job("""
import socket
socket.create_connection(("192.0.2.1", 80))""")
    self.assertEqual(1, status)
    if "network is not private" not in errors:
      self.assertEndsWith(errors, "--noprivate_network opens it.\n")

  def test_restarts(self):
    status, output, errors = self.run_job("""
number = runs()
print("run", number, flush=True)
works()
if me == "worker:0" and number < 2:
  os.kill(os.getpid(), signal.SIGKILL) if number else sys.exit(7)
if me == "worker:0":
  touch("done")
wait_for("done")""")
    self.assertEqual(0, status, errors)
    self.assertEqual(["[worker:0] run %d" % i for i in range(3)],
                     [line for line in output.splitlines()
                      if line.startswith("[worker:0]")])
    self.assertIn("worker:0 failed: exit status 7. It starts again in 1 s "
                  "(restart 1 of 3).", errors)
    self.assertIn("worker:0 failed: killed by signal 9 (SIGKILL). It starts "
                  "again in 2 s (restart 2 of 3).", errors)

  def test_restarts_are_used_up(self):
    status, _, errors = self.run_job("""
works()
if me == "ps:0":
  sys.stderr.write("no memory, and no newline")
  sys.stderr.flush()
  os.kill(os.getpid(), signal.SIGSEGV)
time.sleep(1000)""", "--max_restarts=1")
    self.assertEqual(128 + signal.SIGSEGV, status)
    self.assertIn(
        "ps:0 failed first: killed by signal 11 (SIGSEGV), after 1 restart. "
        "The last lines that it printed:\n  no memory, and no newline\n  no "
        "memory, and no newline\n", errors)

  def test_first_failure_is_named(self):
    # The chief falls while the ps is down, and has no restart left.
    log = os.path.join(self.folder, "e")
    status, _, _ = self.run_job("""
if me == "ps:0":
  works()
  wait_for("chief works")
  print("the cause")
  os.abort()
if me == "chief:0":
  touch("chief works")
  while not any("ps:0" in line for line in open(os.path.join(folder, "e"))):
    time.sleep(.02)
  print("the consequence")
  sys.exit(3)
time.sleep(1000)""", stderr=self.enter_context(open(log, "w")))
    self.assertEqual(128 + signal.SIGABRT, status)
    with open(log) as f:
      errors = f.read()
    self.assertIn("ps:0 failed first: killed by signal 6 (SIGABRT).", errors)
    self.assertIn("\n  the cause\n", errors)
    self.assertIn("After it failed: chief:0: exit status 3, before it began to "
                  "work.", errors)

  def test_stopped_chief_stops_the_job(self):
    status, _, errors = self.run_job("""
works()
if me == "chief:0":
  sys.exit(143)
time.sleep(1000)""")
    self.assertEqual(143, status)
    self.assertNotIn("failed", errors)

  def test_failures_after_training(self):
    status, _, errors = self.run_job("""
works()
if me == "worker:0":
  wait_for("chief is done")
  time.sleep(.5)
  sys.exit(5)
if me == "chief:0":
  touch("chief is done")""")
    self.assertEqual(0, status)
    self.assertIn("worker:0 failed when training was over: exit status 5.",
                  errors)

  def test_leftover_of_a_task_ends_before_its_restart(self):
    # It would hold the port.
    status, output, errors = self.run_job("""
works()
path = os.path.join(folder, "pid")
if me == "worker:0":
  if not runs():
    more = subprocess.Popen(["sleep", "1000"])
    with open(path, "w") as f:
      f.write(str(more.pid))
    os.abort()
  with open(path) as f:
    print("is there", os.path.exists("/proc/" + f.read()))
  touch("done")
wait_for("done")""")
    self.assertEqual(0, status, errors)
    self.assertEqual("[worker:0] is there False\n", output)

  def test_leftover_that_holds_the_pipes(self):
    status, _, errors = self.run_job(_LEAVES_MORE + """
if me == "chief:0":
  print("its last word", end="", flush=True)
""")
    self.assertEqual((0, ""), (status, errors))

  def test_program_that_cannot_be_executed(self):
    path = self.create_tempfile(
        os.path.join(self.folder, "train"), "no program").full_path
    os.chmod(path, 0o755)
    launch = self.start(path)
    status, output, errors = launch.finish()
    self.assertEqual((1, ""), (status, output))
    self.assertIn("{}: Exec format error".format(path), errors)
    self.assertEmpty(launch.left())

  def test_all_output_is_kept(self):
    logs = os.path.join(self.folder, "new", "logs")
    body = """
works()
for i in range(1000):
  print("out", i)
sys.stdout.write("no end")
sys.stdout.flush()
if me == "chief:0" and not runs():
  os.kill(os.getpid(), signal.SIGKILL)
"""
    status, _, errors = self.run_job(body, "--log_dir=" + logs)
    self.assertEqual(0, status, errors)
    self.assertCountEqual(
        ["chief-0.log", "ps-0.log", "worker-0.log", "worker-1.log"],
        os.listdir(logs))
    once = "".join("out %d\n" % i for i in range(1000)) + "no end"
    for name, count in (("chief-0.log", 2), ("ps-0.log", 1)):
      with open(os.path.join(logs, name)) as f:
        self.assertEqual(once * count, f.read())

  def test_closed_output(self):
    self.write("works()\nprint(me)\nprint('more')")
    launch = self.start(*(_SHAPE + (self.program,)))
    launch.process.stdout.close()
    self.assertEqual(0, launch.process.wait(100))


class StopTest(LocalTestCase):

  _BODY = """
def stop(number, _):
  print("stops", number)
  sys.exit(128 + number)
signal.signal(signal.SIGTERM, stop)
works()
touch(me)
time.sleep(1000)"""

  @parameterized.parameters(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
  def test_signal(self, number):
    self.write(self._BODY)
    launch = self.start(*(_SHAPE + (self.program,)))
    self.wait_for(*_ALL)
    launch.process.send_signal(number)
    status, output, errors = launch.finish()
    self.assertEqual(128 + number, status, errors)
    self.assertCountEqual(
        ["[{}] stops 15".format(task) for task in _ALL], output.splitlines())
    self.assertNotIn("failed", errors)
    self.assertEmpty(launch.left())

  def test_nohup(self):
    self.write(self._BODY)
    launch = self.start(
        *(_SHAPE + (self.program,)),
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    self.wait_for(*_ALL)
    launch.process.send_signal(signal.SIGHUP)
    launch.process.send_signal(signal.SIGTERM)
    self.assertEqual(143, launch.finish()[0])

  def test_stopped_task(self):
    self.write(self._BODY.replace(
        "time.sleep", "os.kill(os.getpid(), signal.SIGSTOP) if me == 'ps:0' "
        "else 0\ntime.sleep"))
    launch = self.start(*(_SHAPE + (self.program,)))
    self.wait_for(*_ALL)
    launch.process.send_signal(signal.SIGTERM)
    self.assertIn("[ps:0] stops 15", launch.finish()[1])
    self.assertEmpty(launch.left())

  def test_tasks_that_ignore_it_are_killed(self):
    self.write("signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" +
               _LEAVES_MORE + "touch(me)\ntime.sleep(1000)")
    launch = self.start(*(_SHAPE + (self.program,)))
    self.wait_for(*_ALL)
    launch.process.send_signal(signal.SIGINT)
    launch.process.stderr.readline()  # It says that all tasks end.
    time.sleep(1)
    start = time.monotonic()
    launch.process.send_signal(signal.SIGINT)
    self.assertEqual(130, launch.finish()[0])
    self.assertLess(time.monotonic() - start, 8)
    self.assertEmpty(launch.left())

  @parameterized.parameters(False, True)
  def test_killed(self, is_all):
    self.write(_LEAVES_MORE + "touch(me)\ntime.sleep(1000)")
    launch = self.start(*(_SHAPE + (self.program,)))
    self.wait_for(*_ALL)
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
      launches.wait_until(lambda: not launch.left(), "the end of all")

  def test_both_processes_killed(self):
    # The kernel ends the tasks.
    self.write("touch(me)\ntime.sleep(1000)")
    launch = self.start(*(_SHAPE + (self.program,)))
    self.wait_for(*_ALL)
    first = launch.process.pid
    (second,) = [pid for pid in launch.left() if _parent(pid) == first]
    os.kill(first, signal.SIGSTOP)  # Now it cannot end what the other leaves.
    os.kill(second, signal.SIGKILL)
    os.kill(first, signal.SIGKILL)
    launches.wait_until(lambda: not launch.left(), "the end of all")


def _parent(pid):
  with open("/proc/{}/stat".format(pid)) as f:
    return int(f.read().rpartition(")")[2].split()[1])


class TerminalTest(LocalTestCase):

  def _run(self, body, **variables):
    """Returns what a terminal gets."""
    self.write(body)
    terminal, its_end = os.openpty()
    launch = self.start(
        *(_SHAPE + (self.program,)), stdout=its_end, stderr=its_end,
        variables=dict({"TERM": "xterm", "COLUMNS": "80", "LINES": "40"},
                       **variables))
    os.close(its_end)
    data = b""
    while True:
      try:
        new = os.read(terminal, 1 << 16)
      except OSError:  # All have closed it.
        break
      if not new:
        break
      data += new
    os.close(terminal)
    self.assertEqual(0, launch.finish()[0], data)
    return data.decode()

  _TRAINS = """
works()
name = me.replace(":", "_")
if me != "ps:0":
  report("IterationBegan", iteration_number=0, subnetworks=[name], ensembles=[],
         max_steps=100, global_step=0)
for step in range(5):
  if me != "ps:0":
    report("Progress", iteration_number=0, global_step=step, steps={name: step},
           losses={name: .5})
    time.sleep(.15)
  print("step", step, me, "of 5")
"""

  def test_display_and_lines(self):
    shown = self._run(self._TRAINS)
    plain = re.sub("\033\\[[0-9;?]*[A-Za-z]", "", shown)
    for name in ("chief_0", "worker_0", "worker_1"):
      self.assertRegex(plain, name + " .* 4/100 +loss 0.5")
    for task in _ALL:
      for step in range(5):
        self.assertRegex(plain, r"[\r\n]\[{0}\] step {1} {0} of 5\r\n".format(
            task, step))
    self.assertRegex(shown, "\033\\[3[0-9]m\\[chief:0\\]")

  def test_no_color(self):
    shown = self._run("print('hello')", NO_COLOR="1")
    self.assertCountEqual(
        ["[{}] hello".format(task) for task in _ALL], shown.splitlines())


if __name__ == "__main__":
  absltest.main()
