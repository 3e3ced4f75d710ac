# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Repositories for a Python interpreter and for the packages it imports."""

def _find_python(ctx):
    """Returns the path of the interpreter of the repository's leg."""
    found = ctx.execute([ctx.path(ctx.attr._find_python), ctx.attr.leg])
    if found.return_code != 0:
        fail(found.stderr.strip())
    return found.stdout.strip()

_LEG_ATTRS = {
    "leg": attr.string(
        doc = "A version of TensorFlow, as find_python knows it.",
        mandatory = True,
    ),
    "_find_python": attr.label(
        default = Label("//third_party/py:find_python"),
    ),
}

# What find_python reads; it finds programs on PATH too.
_LEG_ENVIRON = [
    "ADANET_PYTHON",
    "ADANET_PYTHON_TF1_15",
    "ADANET_PYTHON_TF2_15",
    "PYENV_ROOT",
]

_TOOLCHAIN_BUILD = """\
load("@rules_python//python:defs.bzl", "py_runtime", "py_runtime_pair")

py_runtime(
    name = "runtime",
    interpreter_path = "{interpreter}",
    python_version = "PY3",
    stub_shebang = "#!/usr/bin/env python3",
)

py_runtime_pair(
    name = "runtime_pair",
    py3_runtime = ":runtime",
)

toolchain(
    name = "toolchain",
    toolchain = ":runtime_pair",
    toolchain_type = "@bazel_tools//tools/python:toolchain_type",
)
"""

def _python_toolchain_impl(ctx):
    made = ctx.execute(
        [_find_python(ctx), "-m", "venv", "--without-pip", "environment"],
    )
    if made.return_code != 0:
        fail("python -m venv failed: " + made.stderr.strip())
    ctx.file("BUILD", _TOOLCHAIN_BUILD.format(
        interpreter = ctx.path("environment/bin/python3"),
    ))

python_toolchain = repository_rule(
    implementation = _python_toolchain_impl,
    attrs = _LEG_ATTRS,
    doc = """A Python toolchain that sees no package of the machine's.

Its interpreter is a virtual environment with nothing in it, so a target imports
what its `deps` bring and nothing else.
""",
    environ = _LEG_ENVIRON,
    local = True,
)

def _pip_packages_impl(ctx):
    python = _find_python(ctx)
    if ctx.execute([python, "-c", "import pip"]).return_code != 0:
        fail("%s has no pip: tools/bazelw installs it, as does " % python +
             "'%s -m ensurepip' or, on Debian, python3-pip." % python)
    requirements = ctx.path(ctx.attr.requirements)
    ctx.report_progress("pip installs %s" % ctx.attr.requirements)
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
        _LEG_ATTRS,
        requirements = attr.label(
            allow_single_file = True,
            doc = "What to install: pip's format, pinned, with hashes.",
            mandatory = True,
        ),
        substitutes = attr.string_dict(
            doc = "A target's name -> the distribution that serves as it " +
                  "where the distribution of that name is not installed.",
        ),
        timeout_seconds = attr.int(default = 3000),
        _install = attr.label(default = Label("//third_party/py:install.py")),
    ),
    doc = """Python packages from the package index that pip is set up to use.

Each distribution is one target, named as on the index in lower case and with
underscores, that holds one directory and depends on what its metadata requires.
""",
    environ = _LEG_ENVIRON,
)
