# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Repositories for Pythons and the packages that they import."""

load(
    ":tensorflow_versions.bzl",
    "DEFAULT_VERSION",
    "PYTHON_VARIABLES",
    "TENSORFLOW_VERSIONS",
)

def _find_python(ctx):
    """Returns the path of the Python for the repository's TensorFlow version."""
    found = ctx.execute(
        [ctx.path(ctx.attr._find_python), ctx.attr.tensorflow_version],
    )
    if found.return_code != 0:
        fail(found.stderr.strip())
    return found.stdout.strip()

_PYTHON_ATTRS = {
    "tensorflow_version": attr.string(
        default = DEFAULT_VERSION,
        values = TENSORFLOW_VERSIONS.keys(),
    ),
    "_find_python": attr.label(
        default = Label("//third_party/py:find_python"),
    ),
}

# What find_python reads; it finds programs on PATH too.
_PYTHON_ENVIRON = PYTHON_VARIABLES + ["PYENV_ROOT"]

_RUNTIME_BUILD = """\
load("@rules_python//python:defs.bzl", "py_runtime")

py_runtime(
    name = "runtime",
    interpreter_path = "{interpreter}",
    python_version = "PY3",
    stub_shebang = "#!/usr/bin/env python3",
    visibility = ["//visibility:public"],
)
"""

def _python_runtime_impl(ctx):
    made = ctx.execute(
        [_find_python(ctx), "-m", "venv", "--without-pip", "environment"],
    )
    if made.return_code != 0:
        fail("python -m venv failed: " + made.stderr.strip())
    ctx.file("BUILD", _RUNTIME_BUILD.format(
        interpreter = ctx.path("environment/bin/python3"),
    ))

_python_runtime = repository_rule(
    implementation = _python_runtime_impl,
    attrs = _PYTHON_ATTRS,
    doc = """A Python that sees no package of the machine.

Its interpreter is a virtual environment with nothing in it, so a target imports
what its `deps` bring and nothing else.
""",
    environ = _PYTHON_ENVIRON,
    local = True,
)

def _select(label):
    """Returns the text of a select between the TensorFlow versions.

    Args:
      label: a label with "{}" for a version's name.
    """
    return "select(%s)" % {
        "@adanet//third_party/py:" + name: label.format(name)
        for name in TENSORFLOW_VERSIONS.values()
    }

_TOOLCHAIN_BUILD = """\
load("@rules_python//python:defs.bzl", "py_runtime_pair")

py_runtime_pair(
    name = "runtime_pair",
    py3_runtime = {runtime},
)

toolchain(
    name = "toolchain",
    toolchain = ":runtime_pair",
    toolchain_type = "@bazel_tools//tools/python:toolchain_type",
)
"""

def _python_toolchain_impl(ctx):
    ctx.file("BUILD", _TOOLCHAIN_BUILD.format(
        runtime = _select("@adanet_python_{}//:runtime"),
    ))

_python_toolchain = repository_rule(
    implementation = _python_toolchain_impl,
    doc = "The toolchain with the Python of the chosen TensorFlow version.",
)

def _pip_packages_impl(ctx):
    python = _find_python(ctx)
    if ctx.execute([python, "-c", "import pip"]).return_code != 0:
        fail("%s has no pip: tools/bazelw installs it, as does " % python +
             "'%s -m ensurepip' or, on Debian, python3-pip." % python)
    requirements = ctx.path(ctx.attr.requirements)
    ctx.execute(
        ["echo", "Fetching Python packages (%s), about a minute." %
                 ctx.attr.requirements.name],
        quiet = False,
    )
    installed = ctx.execute(
        [
            python,
            ctx.path(ctx.attr._install),
            "--requirements=%s" % requirements,
            "--substitutes=%s" % json.encode(ctx.attr.substitutes),
        ],
        timeout = ctx.attr.timeout_seconds,
    )
    if installed.return_code != 0:
        fail("%s: %s" % (ctx.attr.requirements, installed.stderr.strip()))

pip_packages = repository_rule(
    implementation = _pip_packages_impl,
    attrs = dict(
        _PYTHON_ATTRS,
        requirements = attr.label(
            allow_single_file = True,
            doc = "What to install: pip's format, pinned, with hashes.",
            mandatory = True,
        ),
        substitutes = attr.string_dict(
            doc = "A target's name -> the target that stands in for it if " +
                  "no distribution of that name is installed.",
        ),
        timeout_seconds = attr.int(default = 3000),
        _install = attr.label(default = Label("//third_party/py:install.py")),
    ),
    doc = """Python packages from the package index that pip is set up to use.

Each distribution is one target, named as on the index in lower case and with
underscores, that holds one directory and depends on what its metadata requires.
""",
    environ = _PYTHON_ENVIRON,
)

def _pip_hub_impl(ctx):
    names = {target: None for target in ctx.attr.substitutes}
    for requirements in ctx.attr.requirements:
        for line in ctx.read(requirements).splitlines():
            name, equals, _ = line.partition("==")
            if equals and name[0].isalnum():
                names[name.replace("-", "_").replace(".", "_").lower()] = None
    ctx.file("BUILD", "package(default_visibility = [%r])\n" %
                      "//visibility:public" + "".join([
        "alias(name = %r, actual = %s)\n" %
        (name, _select("@adanet_pypi_{}//:" + name))
        for name in sorted(names)
    ]))

_pip_hub = repository_rule(
    implementation = _pip_hub_impl,
    attrs = {
        "requirements": attr.label_list(
            doc = "Those of every TensorFlow version.",
        ),
        "substitutes": attr.string_dict(),
    },
    doc = "An alias a package, to that of the chosen TensorFlow version.",
)

_SUBSTITUTES = {
    # Dask, Optuna and cmaes are for the default TensorFlow version only: on the
    # others, tests skip what needs them.
    "cmaes": "cloudpickle",
    "distributed": "cloudpickle",
    # TensorFlow 1.15 has none: its tests skip what needs it.
    "kubernetes_validate": "six",
    "optuna": "cloudpickle",
    "tensorflow": "tensorflow_cpu",
    # In a graph of TensorFlow 1, TensorFlow's own Keras works until 2.15.
    "tf_keras": "tensorflow",
}

def tensorflow_repositories():
    """Declares Pythons and packages, one of each a TensorFlow version.

    adanet_python has the toolchain and adanet_pypi the packages of the version
    that //third_party/py:tensorflow_version chooses. Only that is fetched.
    """
    _python_toolchain(name = "adanet_python")
    requirements = {
        name: "@adanet//third_party/py:%s.txt" % name
        for name in TENSORFLOW_VERSIONS.values()
    }
    requirements[TENSORFLOW_VERSIONS[DEFAULT_VERSION]] = (
        "@adanet//:requirements.txt"
    )
    _pip_hub(
        name = "adanet_pypi",
        requirements = requirements.values(),
        substitutes = _SUBSTITUTES,
    )
    for version, name in TENSORFLOW_VERSIONS.items():
        _python_runtime(
            name = "adanet_python_" + name,
            tensorflow_version = version,
        )
        pip_packages(
            name = "adanet_pypi_" + name,
            requirements = requirements[name],
            substitutes = _SUBSTITUTES,
            tensorflow_version = version,
        )
