# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs jobs of small programs to their end, and looks for what they leave."""

import os
import re
import signal
import socket

from absl.testing import absltest
from adanet.testing import launches
from adanet.testing import level


class EndTest(launches.LaunchTestCase):

  def test_all_tasks(self):
    status, output, errors = self.run_job(
        "print(me, sys.argv[1:], os.environ['ADANET_JOB_ID'],\n"
        "      os.environ['CUDA_VISIBLE_DEVICES'],\n"
        "      os.environ['TF_CPP_MIN_LOG_LEVEL'], os.environ['COLUMNS'],"
        "      sep='|')", "--evaluator", "--private_network")
    self.assertEqual(0, status, errors)
    lines = sorted(output.splitlines())
    jobs = {line.split("|")[2] for line in lines}
    self.assertLen(jobs, 1, lines)
    self.assertEqual(
        ["[{0}] {0}|[]|{1}|-1|2|{2}".format(
            task, "".join(jobs), 80 - len(f"[{task}] ")) for task in
         ("chief:0", "evaluator:0", "ps:0", "worker:0", "worker:1")], lines)

  def _run_alone(self, program, *flags):
    """Runs a program as it is; returns the status, and its one line."""
    self.create_tempfile(self.program, program)
    launch = self.start(
        "--scheduler=local", "--private_network", *flags, self.program)
    status, _, errors = launch.finish()
    lines = [line for line in errors.splitlines()
             if "network is not private" not in line]
    self.assertLen(lines, 1, errors)
    return status, lines[0]

  def test_program_that_never_trains(self):
    status, line = self._run_alone("print('hello')", *launches.SHAPE)
    self.assertEqual(1, status)
    self.assertRegex(
        line, r"^adanet-launch: (chief|worker|ps):\d ended with exit status 0, "
        "but took no part in the job: it never called .*")

  def test_model_dir_of_each_task(self):
    status, line = self._run_alone(launches.PREAMBLE + """
joins("/" + me)
time.sleep(1000)""", "--evaluator")
    self.assertEqual(1, status)
    self.assertRegex(
        line, r"^adanet-launch: (\w+):0 has the model_dir '/\1:0', and "
        r"(\w+):0 has '/\2:0': all tasks must have the same\.")

  @level.gate
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

  @level.gate
  def test_no_way_to_the_internet(self):
    status, _, errors = self.run_job("""
import socket
socket.create_connection(("192.0.2.1", 80))""")
    self.assertEqual(1, status)
    if "network is not private" not in errors:
      self.assertEndsWith(errors, "--noprivate_network opens it.\n")

  @level.gate
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

  @level.gate
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

  @level.gate
  def test_leftover_that_holds_the_pipes(self):
    status, _, errors = self.run_job(launches.LEAVES_MORE + """
if me == "chief:0":
  print("its last word", end="", flush=True)
""")
    self.assertEqual((0, ""), (status, errors))

  @level.gate
  def test_program_that_cannot_be_executed(self):
    path = self.create_tempfile(
        os.path.join(self.folder, "train"), "no program").full_path
    os.chmod(path, 0o755)
    launch = self.start(path)
    status, output, errors = launch.finish()
    self.assertEqual((1, ""), (status, output))
    self.assertIn(f"{path}: Exec format error", errors)
    self.assertEmpty(launch.left())

  @level.gate
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

  @level.gate
  def test_closed_output(self):
    self.write("works()\nprint(me)\nprint('more')")
    launch = self.start(*(launches.SHAPE + (self.program,)))
    launch.process.stdout.close()
    self.assertEqual(0, launch.process.wait(100))


if __name__ == "__main__":
  absltest.main()
