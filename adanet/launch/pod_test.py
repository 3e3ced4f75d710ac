# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests pod: runs what the manifests say as processes of this machine."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import textwrap
import time

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level
from adanet import waiting
from adanet.launch import job as job_lib
from adanet.launch import kubernetes
from adanet.launch import pod
from adanet.testing import launches
from adanet.testing import processes
import runfiles

_TIMEOUT_SECS = 120

# What a container's image brings: adanet-launch on the PATH.
_LAUNCH = """\
#!/bin/sh
exec {python} {main} "$@"
"""

# Runs pods, and writes their exit status. First, it gives each name an address
# of its own on the loopback, in namespaces of its own.
_RUNNER = """
import json, subprocess, sys, time
from adanet.launch import machine
assert machine.enter_private_network()
hosts, pods, timeout = sys.argv[1:]
subprocess.check_call(["mount", "--bind", hosts, "/etc/hosts"])
end = time.monotonic() + float(timeout)
with open(pods) as f:
  running = [(name, subprocess.Popen(command, env=environment))
             for name, command, environment in json.load(f)]
result = {}
for name, process in running:
  try:
    result[name] = process.wait(max(0., end - time.monotonic()))
  except subprocess.TimeoutExpired:
    process.kill()
    result[name] = "timeout"
print(json.dumps(result))
"""

# A task that serves at its own address and asks all others who they are.
_TASK = """
import json, os, socket, sys, threading, time
config = json.loads(os.environ["TF_CONFIG"])
kind, index = config["task"]["type"], config["task"]["index"]
me = "{}-{}".format(kind, index)
os.write(int(os.environ["ADANET_EVENTS_FD"]),
         (json.dumps({"event": "Working", "task": me}) + "\\n").encode())
if me == sys.argv[2]:
  sys.exit(3)

def split(address):
  host, port = address.split(":")
  return host, int(port)

def serve(server):
  while True:
    connection, _ = server.accept()
    connection.sendall(me.encode())
    connection.close()

def ask(address):
  end = time.monotonic() + 60
  while True:
    try:
      with socket.create_connection(split(address)) as connection:
        return connection.makefile().read()
    except OSError:
      if time.monotonic() > end:
        raise
      time.sleep(.05)

if kind != "evaluator":
  server = socket.socket()
  server.bind(split(config["cluster"][kind][index]))
  server.listen(100)
  threading.Thread(target=serve, args=(server,), daemon=True).start()
found = [ask(address) for name in sorted(config["cluster"])
         for address in config["cluster"][name]]
with open(os.path.join(sys.argv[1], me), "w") as f:
  json.dump([found, os.environ["ADANET_JOB_ID"],
             os.environ.get("CUDA_VISIBLE_DEVICES"), config.get("model_dir"),
             sys.argv[3:]], f)
# The others may still ask this task, until all have written.
end = time.monotonic() + 60
while len(os.listdir(sys.argv[1])) < int(os.environ["NUM_TASKS"]):
  assert time.monotonic() < end
  time.sleep(.05)
"""


def _expand(text, environment):
  """Returns an argument of a container as Kubernetes gives it to a process."""
  return re.sub(
      r"\$\$|\$\(([A-Za-z_]+)\)",
      lambda match: "$" if match.group() == "$$" else environment.get(
          match.group(1), match.group()), text)


def _pods(manifests):
  """Yields hostname, command and variables of each pod, as Kubernetes does."""
  for job in json.loads(manifests)["items"]:
    if job["kind"] != "Job":
      continue
    spec = job["spec"]["template"]["spec"]
    container, = spec["containers"]
    for index in range(job["spec"]["completions"]):
      # Annotations are absent or "0" the first time.
      environment = {x["name"]: x.get("value", "") for x in container["env"]}
      environment["JOB_COMPLETION_INDEX"] = str(index)
      hostname = f"{job['metadata']['name']}-{index}"
      yield (f"{hostname}.{spec['subdomain']}",
             [_expand(x, environment)
              for x in container["command"] + container["args"]], environment)


def _can_unshare():
  return not subprocess.call(
      ["unshare", "--map-root-user", "--mount", "--net", "true"],
      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class ManifestsRunTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    if not _can_unshare():
      self.skipTest("The kernel refuses namespaces.")
    self._folder = self.create_tempdir().full_path

  def _write(self, name, text):
    path = os.path.join(self._folder, name)
    with open(path, "w") as f:
      f.write(text)
    return path

  def _run(self, program, *arguments):
    """Runs all pods; returns their exit statuses and what tasks wrote."""
    results = os.path.join(self._folder, "results")
    os.mkdir(results)
    path = self._write("train.py", program)
    spec = kubernetes.Spec(
        "image", (path, results) + arguments, 2, 2, True, "digits",
        model_dir="gs://a/b")
    main = runfiles.Create().Rlocation("adanet/adanet/launch/main.py")
    launch = self._write(
        "adanet-launch", _LAUNCH.format(python=sys.executable, main=main))
    os.chmod(launch, os.stat(launch).st_mode | stat.S_IXUSR)
    pods, hosts = [], ["127.0.0.1 localhost"]
    for name, command, environment in _pods(
        kubernetes.manifests(spec, "digits-1")):
      hosts.append(f"127.0.1.{len(hosts)} {name}")
      pods.append((name, command, processes.python_environment(
          NUM_TASKS="6",
          PATH=os.pathsep.join([self._folder, os.environ["PATH"]]),
          **environment)))
    output = subprocess.check_output(
        ["unshare", "--map-root-user", "--mount", "--net", sys.executable,
         self._write("runner.py", _RUNNER),
         self._write("hosts", "\n".join(hosts) + "\n"),
         self._write("pods.json", json.dumps(pods)), str(_TIMEOUT_SECS)],
        env=processes.python_environment(), timeout=2 * _TIMEOUT_SECS)
    written = {}
    for name in os.listdir(results):
      with open(os.path.join(results, name)) as f:
        written[name] = json.load(f)
    return json.loads(output.decode().splitlines()[-1]), written

  @level.gate
  def test_tasks_find_each_other(self):
    statuses, written = self._run(_TASK, "none", "$(HOME) $$", "é")
    names = ["chief-0", "evaluator-0", "ps-0", "ps-1", "worker-0", "worker-1"]
    self.assertEqual(
        {f"digits-{name}.digits": 0 for name in names}, statuses)
    addressed = [name for name in names if name != "evaluator-0"]
    trains = ("chief-0", "worker-0", "worker-1")
    self.assertEqual(
        {name: [addressed, "digits-1", None if name in trains else "-1",
                "gs://a/b", ["$(HOME) $$", "é"]] for name in names},
        written)


class RunTest(parameterized.TestCase):
  """One pod."""

  def setUp(self):
    super().setUp()
    self._folder = self.create_tempdir().full_path

  def _start(self, program, waits=False, **variables):
    path = os.path.join(self._folder, "train.py")
    with open(path, "w") as f:
      f.write(launches.PREAMBLE + textwrap.dedent(program))
    code = textwrap.dedent("""
        import os, sys
        from adanet import waiting
        from adanet.launch import pod
        waiting._FIRST_MESSAGE_SECS = .1
        wait = pod.wait_for_names if {} else lambda job: None
        warn = lambda line: print("adanet-launch:", line, file=sys.stderr)
        sys.exit(pod.run(sys.argv[1:], dict(os.environ), warn, wait=wait))
        """).format(waits)
    environment = processes.python_environment(
        ADANET_CLUSTER=json.dumps(
            {"name": "a", "workers": 0, "ps": 0, "evaluator": False}),
        ADANET_TASK_TYPE="chief", ADANET_JOB_ID="a-1", JOB_COMPLETION_INDEX="0",
        **variables)
    return self.enter_context(processes.Program(
        [sys.executable, "-c", code, sys.executable, path], environment,
        stdout=None, stderr=subprocess.PIPE)).process

  @parameterized.named_parameters(level.first([
      ("fails_later", "works(); sys.exit(1)", {}, 1),
      ("wrong", "sys.exit(1)", {}, kubernetes.WRONG_PROGRAM),
      ("done", "works()", {}, 0),
      ("took_no_part", "", {}, kubernetes.WRONG_PROGRAM),
      ("fails_again", "sys.exit(1)", {"ADANET_FAILURES": "1"}, 1),
      ("fails_after_a_stop", "sys.exit(4)", {"ADANET_STOPS": "1"}, 4),
      ("stopped", "sys.exit(143)", {}, 143),
      ("killed", "os.kill(os.getpid(), signal.SIGKILL)", {}, 137),
      ("many_events", """
          for _ in range(3000):
            report("Progress", text="a" * 100)
          works()
          sys.exit(5)""", {}, 5),
  ], 4))
  def test_exit_status(self, program, variables, expected):
    process = self._start(program, **variables)
    self.assertEqual(expected, process.wait(_TIMEOUT_SECS),
                     process.stderr.read())

  def test_shows_how_far_the_task_is(self):
    process = self._start("""
        joins()
        report("TrainingEnded", global_step=9, reason="the input ended")
        """)
    self.assertEqual(0, process.wait(_TIMEOUT_SECS))
    self.assertEqual(
        "adanet-launch: Training ended at step 9: the input ended.\n",
        process.stderr.read())

  @parameterized.parameters(level.first([
      (signal.SIGTERM, 143), (signal.SIGINT, 130)]))
  def test_signals_reach_the_program(self, number, status):
    process = self._start("""
        def stop(number, _):
          touch("stopped")
          sys.exit(128 + number)
        signal.signal({}, stop)
        touch("ready")
        time.sleep(100)
        """.format(int(number)))
    processes.wait_until(
        lambda: os.path.exists(os.path.join(self._folder, "ready")), "ready")
    process.send_signal(number)
    self.assertEqual(status, process.wait(_TIMEOUT_SECS))
    self.assertTrue(os.path.exists(os.path.join(self._folder, "stopped")))

  def test_a_signal_ends_the_wait_for_names(self):
    process = self._start("touch('ready')", waits=True)
    # It says what it waits for, so it handles signals by then.
    line = process.stderr.readline()
    while "Waiting" not in line:
      self.assertTrue(line)
      line = process.stderr.readline()
    self.assertIn("the name of chief:0 (a-chief-0.a:2222)", line)
    process.send_signal(signal.SIGTERM)
    self.assertEqual(143, process.wait(_TIMEOUT_SECS))
    self.assertFalse(os.path.exists(os.path.join(self._folder, "ready")))


class WaitForNamesTest(absltest.TestCase):

  def test_names_that_resolve(self):
    start = time.monotonic()
    pod.wait_for_names(
        job_lib.make_job(1, 1, True, ["127.0.0.1:1", "localhost:1", "[::1]:1"]))
    self.assertLess(time.monotonic() - start, 60)

  def test_it_ends(self):
    job = job_lib.make_job(3, 1, False, [
        "127.0.0.1:1"] + [f"no-{i}.invalid:1" for i in range(4)])
    with self.assertRaisesRegex(
        waiting.WaitTimeoutError,
        r"waited 0.1 s for the names of worker:0 \(no-0.invalid:1\), worker:1 "
        r"\(no-1.invalid:1\), worker:2 \(no-2.invalid:1\) and 1 more: see why "
        "their pods do not start with kubectl get pods"):
      pod.wait_for_names(job, .1)


if __name__ == "__main__":
  absltest.main()
