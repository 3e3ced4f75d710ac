# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests slurm: the variables are those of a real Slurm 22.05."""

import itertools
import json

from absl.testing import absltest
from absl.testing import parameterized
from adanet.launch import job as job_lib
from adanet.launch import slurm
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st


def _environ(rank, ranks_of_nodes, tasks_per_node, **variables):
  """Returns the variables that Slurm gives a rank, on nodes n1, n2, ..."""
  node = [rank in ranks for ranks in ranks_of_nodes].index(True)
  num_nodes = len(ranks_of_nodes)
  num_tasks = sum(map(len, ranks_of_nodes))
  environ = {
      "SLURM_JOB_ID": "12",
      "SLURM_STEP_ID": "0",
      "SLURM_STEP_NODELIST":
          "n1" if num_nodes == 1 else f"n[1-{num_nodes}]",
      "SLURM_STEP_NUM_TASKS": str(num_tasks),
      "SLURM_STEP_TASKS_PER_NODE": tasks_per_node,
      "SLURM_NODEID": str(node),
      "SLURM_LOCALID": str(ranks_of_nodes[node].index(rank)),
      "SLURM_PROCID": str(rank),
      "SLURM_GTIDS": ",".join(map(str, ranks_of_nodes[node])),
      # Of the job, of which a step may have a part.
      "SLURM_TASKS_PER_NODE": "9",
      "SLURM_NTASKS": str(num_tasks),
  }
  environ.update(variables)
  return {name: value for name, value in environ.items() if value is not None}


def _one_task(**variables):
  return _environ(0, [[0, 1]], "2", **variables)


class PlaceTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("evaluator", [[0, 1], [2, 3], [4, 5]], "2(x3)", "block", 2, True,
       "chief:0@n1 worker:0@n1 worker:1@n2 ps:0@n2 evaluator:0 ps:1@n3"),
      ("uneven", [[0, 1, 2, 3], [4, 5], [6]], "4,2,1", "*", 3, False,
       "chief:0@n1 worker:0@n1 worker:1@n1 ps:0@n1 worker:2@n2 ps:1@n2 "
       "ps:2@n3"),
      ("cyclic", [[0, 3, 5, 6], [1, 4], [2]], "4,2,1", "cyclic:block", 2, False,
       "chief:0@n1 worker:0@n2 ps:0@n3 worker:1@n1 ps:1@n2 worker:2@n1 "
       "worker:3@n1"),
      ("plane", [[0, 1, 5, 6], [2, 3], [4]], "4,2,1", "plane", 1, False,
       "chief:0@n1 worker:0@n1 worker:1@n2 worker:2@n2 ps:0@n3 worker:3@n1 "
       "worker:4@n1"),
      ("many_ps", [[0], [1, 2], [3], [4, 5]], "1,2,1,2", "", 5, False,
       "chief:0@n1 ps:0@n2 ps:1@n2 ps:2@n3 ps:3@n4 ps:4@n4"),
      ("alone", [[0]], "1", "", 0, False, "chief:0@n1"),
      ("chief_and_evaluator", [[0], [1]], "1(x2)", "", 0, True,
       "chief:0@n1 evaluator:0"),
  )
  def test_all_tasks_find_their_place(self, ranks_of_nodes, tasks_per_node,
                                      distribution, num_ps, has_evaluator,
                                      expected):
    num_tasks = sum(map(len, ranks_of_nodes))
    places = [
        slurm.place(
            _environ(rank, ranks_of_nodes, tasks_per_node,
                     SLURM_DISTRIBUTION=distribution or None,
                     SLURM_DIST_PLANESIZE="2"), num_ps, has_evaluator)
        for rank in range(num_tasks)
    ]
    task_hosts = []
    for place in places:
      task = place.task
      if task.job == job_lib.EVALUATOR:
        task_hosts.append(task.name)
      else:
        host = place.job.addresses[task.job][task.index].split(":")[0]
        task_hosts.append(f"{task.name}@{host}")
    self.assertEqual(expected, " ".join(task_hosts))
    self.assertLen({json.dumps(place.job) for place in places}, 1)
    self.assertEqual(has_evaluator, places[0].job.has_evaluator)
    self.assertCountEqual(places[0].job.tasks(), [p.task for p in places])
    self.assertEqual({"slurm-12.0-0"}, {place.job_id for place in places})
    ports = _ports(places[0].job)
    self.assertLen(set(ports), len(ports))

  @parameterized.named_parameters(
      ("too_few", _one_task(), dict(num_ps=2),
       "srun: 2 tasks, expected at least 3 (a chief, 2 ps); use srun "
       "--ntasks=3 or more."),
      ("no_evaluator", _environ(0, [[0]], "1"),
       dict(num_ps=0, has_evaluator=True),
       "srun: 1 task, expected at least 2 (a chief, 0 ps, an evaluator); use "
       "srun --ntasks=2 or more."),
      ("workers", _one_task(), dict(num_workers=3),
       "--workers: 3, expected 0 beside the chief, because srun has started 2 "
       "tasks; leave --workers out."),
      ("no_ps", _one_task(), dict(num_ps=0),
       "--ps: 0, expected at least 1 with --workers=1, to hold "
       "the variables that the tasks share; use --ps=1."),
      ("batch", {"SLURM_JOB_ID": "1", "SLURM_PROCID": "0"}, {},
       slurm.NEEDS_SRUN),
      ("no_slurm", {}, {}, slurm.NEEDS_SRUN),
      ("heterogeneous", _one_task(SLURM_HET_SIZE="2"), {},
       "SLURM_HET_SIZE: 2, expected a job that is not heterogeneous; use srun "
       "without ':'."),
      ("arbitrary", _one_task(SLURM_DISTRIBUTION="arbitrary"), {},
       "SLURM_DISTRIBUTION: arbitrary, expected block, cyclic or plane; use "
       "srun --distribution=block."),
      ("node_list", _one_task(SLURM_STEP_NODELIST="n[1-"), {},
       "SLURM_STEP_NODELIST: 'n[1-', expected a list such as n[1-3,7],gpu1."),
      ("number_of_nodes", _one_task(SLURM_STEP_NODELIST="n[1-2]"), {},
       "SLURM_STEP_NODELIST: n[1-2], expected 1 nodes, as many as "
       "SLURM_STEP_TASKS_PER_NODE has."),
      ("tasks_per_node", _one_task(SLURM_STEP_TASKS_PER_NODE="2(x"), {},
       "SLURM_STEP_TASKS_PER_NODE: '2(x', expected a list such as 2(x3),1."),
      ("rank", _one_task(SLURM_PROCID="x"), {},
       "SLURM_PROCID: x, expected a number; start it with srun."),
      ("missing", _one_task(SLURM_NODEID=None), {},
       "SLURM_NODEID: not set, expected the value that Slurm gives each task; "
       "start it with srun."),
      ("ports", _one_task(SLURM_STEP_RESV_PORTS="1-x"), {},
       "SLURM_STEP_RESV_PORTS: '1-x', expected a list such as "
       "12000-12003,12005."),
  )
  def test_bad_input_is_one_line(self, environ, arguments, message):
    arguments = dict(dict(num_ps=1, has_evaluator=False), **arguments)
    with self.assertRaises(ValueError) as raised:
      slurm.place(environ, **arguments)
    self.assertEqual(message, str(raised.exception))
    self.assertNotIn("\n", message)

  def test_other_layout_than_slurm_has_is_refused(self):
    # As if Slurm had distributed in a way that no variable tells.
    environ = _environ(2, [[0, 2], [1, 3]], "2(x2)")
    with self.assertRaisesRegex(
        slurm.LayoutError, "SLURM_GTIDS: 0,2, expected 0,1 on node 0 with the "
        "distribution 'block'; use srun --distribution=block."):
      slurm.place(environ, 1, False)
    del environ["SLURM_GTIDS"]  # An older Slurm.
    with self.assertRaisesRegex(slurm.LayoutError, "SLURM_PROCID: 2, expected"):
      slurm.place(environ, 1, False)

  def test_older_variables(self):
    environ = _one_task(SLURM_STEP_TASKS_PER_NODE=None,
                        SLURM_TASKS_PER_NODE="2", SLURM_GTIDS=None)
    self.assertEqual("chief:0", slurm.place(environ, 1, False).task.name)

  @hypothesis.given(
      st.lists(st.integers(1, 5), min_size=1, max_size=4),
      st.sampled_from(["", "block", "cyclic", "plane"]), st.integers(1, 4),
      st.integers(1, 6), st.booleans(), st.booleans())
  def test_any_shape(self, counts, distribution, plane_size, num_ps,
                     has_evaluator, has_reserved):
    nodes = slurm.distribute(counts, distribution, plane_size)
    self.assertEqual(counts, [nodes.count(i) for i in range(len(counts))])
    ranks_of_nodes = [
        [rank for rank, of in enumerate(nodes) if of == node]
        for node in range(len(counts))
    ]
    tasks_per_node = ",".join(map(str, counts))
    hypothesis.assume(len(nodes) > num_ps + has_evaluator)
    places = [
        slurm.place(
            _environ(rank, ranks_of_nodes, tasks_per_node,
                     SLURM_DISTRIBUTION=distribution or None,
                     SLURM_DIST_PLANESIZE=str(plane_size),
                     SLURM_STEP_RESV_PORTS="15001-{}".format(
                         15001 + max(counts)) if has_reserved else None),
            num_ps, has_evaluator)
        for rank in range(len(nodes))
    ]
    job = places[0].job
    self.assertEqual("chief", places[0].task.job)
    self.assertCountEqual(job.tasks(), [place.task for place in places])
    self.assertLen(job.addresses.get("ps", ()), num_ps)
    addresses = list(itertools.chain(*job.addresses.values()))
    self.assertLen(set(addresses), len(addresses))
    for place, node in zip(places, nodes):
      self.assertEqual(job, place.job)
      if place.task.job != job_lib.EVALUATOR:
        self.assertStartsWith(
            job.addresses[place.task.job][place.task.index],
            f"n{node + 1}:")
    # No node has two ps more than another that has room for one.
    ps = [0] * len(counts)
    for place, node in zip(places, nodes):
      ps[node] += place.task.job == job_lib.PS
    room = [count - (node == 0) - of
            for node, (count, of) in enumerate(zip(counts, ps))]
    for node, left in enumerate(room):
      evaluator = has_evaluator and any(
          place.task.job == job_lib.EVALUATOR and of == node
          for place, of in zip(places, nodes))
      if left > evaluator:
        self.assertLessEqual(max(ps), ps[node] + 1)


def _ports(job):
  return [int(address.split(":")[1])
          for addresses in job.addresses.values() for address in addresses]


class PortsTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("a_node", "15001-15003", [15001, 15002, 15001, 15002]),
      ("all", "15001-15002,15007,15009", [15001, 15002, 15007, 15009]),
      ("brackets", "[15001-15004]", [15001, 15002, 15003, 15004]),
  )
  def test_reserved(self, reserved, expected):
    place = slurm.place(
        _environ(0, [[0, 1], [2, 3]], "2(x2)", SLURM_STEP_RESV_PORTS=reserved),
        1, False)
    self.assertEqual(expected, [
        int(place.job.addresses[kind][index].split(":")[1])
        for kind, index in (
            ("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0))
    ])

  @parameterized.parameters("", "(null)", "15001")
  def test_too_few_reserved(self, reserved):
    place = slurm.place(_one_task(SLURM_STEP_RESV_PORTS=reserved), 1, False)
    first = slurm.first_port(12, 0)
    self.assertEqual([first, first + 1], _ports(place.job))

  def test_of_10000_tasks_differ(self):
    place = slurm.place(
        _environ(0, [list(range(10000))], "10000", SLURM_GTIDS=None), 20, False)
    ports = _ports(place.job)
    self.assertLen(set(ports), 10000)
    self.assertBetween(min(ports), 10000, 32767)
    self.assertBetween(max(ports), 10000, 32767)

  @hypothesis.given(st.integers(1, 2**31))
  def test_neighbors_do_not_clash(self, job_id):
    first = [slurm.first_port(job_id + job, step)
             for job in range(8) for step in range(4)]
    first.sort()
    distances = [b - a for a, b in zip(first, first[1:])]
    self.assertGreater(min(distances), 100)


class JobIdTest(parameterized.TestCase):

  def test_new_for_each_start(self):
    variables = itertools.product(
        ("12", "13"), ("0", "1"), (None, "1", "2"))
    ids = [
        slurm.job_id(_one_task(SLURM_JOB_ID=job, SLURM_STEP_ID=step,
                               SLURM_RESTART_COUNT=restarts))
        for job, step, restarts in variables
    ]
    self.assertLen(set(ids), 12)


class ListsTest(parameterized.TestCase):

  # What `scontrol show hostnames` says.
  @parameterized.parameters(
      ("n1", "n1"),
      ("n[1-3,7],gpu-a01", "n1 n2 n3 n7 gpu-a01"),
      ("n[001-003]", "n001 n002 n003"),
      ("r[1-2]n[1-3]", "r1n1 r1n2 r1n3 r2n1 r2n2 r2n3"),
      ("n[9-11]", "n9 n10 n11"),
      ("n[09-11],m", "n09 n10 n11 m"),
      ("n[099-101]", "n099 n100 n101"),
  )
  def test_expand_nodes(self, node_list, expected):
    self.assertEqual(expected.split(), slurm.expand_nodes(node_list))

  @parameterized.parameters("", ",", "n1,", "n[1-3", "n]1[", "n[1-]", "n[a]",
                            "n[]", "n[[1]]", "n[1,,2]")
  def test_no_node_list(self, node_list):
    with self.assertRaisesRegex(ValueError, "expected a list such as"):
      slurm.expand_nodes(node_list)

  @parameterized.parameters(
      ("1", [1]), ("2(x3),1", [2, 2, 2, 1]), ("4,3,1(x2)", [4, 3, 1, 1]))
  def test_expand_tasks_per_node(self, text, expected):
    self.assertEqual(expected, slurm.expand_tasks_per_node(text))


class WhereTest(parameterized.TestCase):

  # The variables of the shells of sbatch and salloc.
  @parameterized.named_parameters(
      ("sbatch", {"SLURM_JOB_ID": "8", "SLURM_PROCID": "0", "SLURM_NTASKS": "4",
                  "SLURM_JOB_NUM_NODES": "2"}, False, True),
      ("sbatch_of_nodes", {"SLURM_JOB_ID": "8", "SLURM_PROCID": "0",
                           "SLURM_JOB_NUM_NODES": "2"}, False, True),
      ("sbatch_of_one", {"SLURM_JOB_ID": "8", "SLURM_PROCID": "0",
                         "SLURM_JOB_NUM_NODES": "1"}, False, False),
      ("salloc", {"SLURM_JOB_ID": "9", "SLURM_NTASKS": "4",
                  "SLURM_JOB_NUM_NODES": "1"}, False, True),
      ("srun", _one_task(), True, False),
      ("elsewhere", {"SLURM_CONF": "/etc/slurm.conf"}, False, False),
  )
  def test_where(self, environ, in_step, lacks_srun):
    self.assertEqual(in_step, slurm.in_step(environ))
    self.assertEqual(lacks_srun, slurm.lacks_srun(environ))

  def test_alone_and_first(self):
    self.assertFalse(slurm.is_alone(_one_task()))
    self.assertTrue(slurm.is_alone(_environ(0, [[0]], "1")))
    self.assertTrue(slurm.is_first(_one_task()))
    self.assertFalse(slurm.is_first(_environ(1, [[0, 1]], "2")))


if __name__ == "__main__":
  absltest.main()
