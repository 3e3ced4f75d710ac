# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rules that pack Python libraries into a wheel and a source distribution.

A target that is written for these rules works with rules_python's of the same
names too. Attributes that no target here needs are left out.
"""

load("//tools/build_defs:python.bzl", "PyInfo")

_PyPackageInfo = provider(
    doc = "The import package that a `py_package` holds.",
    fields = {"name": "String, with dots."},
)

def _path(file):
    """Returns a file's path below the root of its repository."""
    if file.short_path.startswith("../"):
        return file.short_path.split("/", 2)[2]
    return file.short_path

def _py_package_impl(ctx):
    if len(ctx.attr.packages) != 1:
        fail("%s: packages: name exactly one." % ctx.label)
    name = ctx.attr.packages[0]
    deps = ctx.attr.deps
    files = depset(
        transitive = [dep[PyInfo].transitive_sources for dep in deps] +
                     [dep[DefaultInfo].default_runfiles.files for dep in deps],
    )

    # The __init__.py at the root is for Bazel's runfiles alone.
    files = [
        file
        for file in files.to_list()
        if file.owner.workspace_name == ctx.label.workspace_name and
           _path(file) != "__init__.py"
    ]
    folder = name.replace(".", "/") + "/"
    outside = [_path(f) for f in files if not _path(f).startswith(folder)]
    if outside:
        fail("%s: not in the package %s: %s. Remove it from deps and data." %
             (ctx.label, name, ", ".join(outside)))
    return [DefaultInfo(files = depset(files)), _PyPackageInfo(name = name)]

py_package = rule(
    implementation = _py_package_impl,
    doc = """One import package: libraries and all files that they depend on.

A file of this repository outside of the package fails the build: it would be
missing where the package is installed. (rules_python leaves it out.) Files of
other repositories are left out, as the wheel `requires` them. `packages` holds
one name, with dots.
""",
    attrs = {
        "deps": attr.label_list(mandatory = True, providers = [PyInfo]),
        "packages": attr.string_list(mandatory = True),
    },
)

def _toml(tables):
    """Returns tables in TOML, without values that are empty."""
    lines = []
    for name, values in tables.items():
        lines.append("[%s]" % name)
        for key, value in values.items():
            if value:
                lines.append("%s = %s" % (json.encode(key), json.encode(value)))
    return "\n".join(lines) + "\n"

def _py_wheel_impl(ctx):
    if len(ctx.attr.deps) != 1:
        fail("%s: deps: name exactly one py_package." % ctx.label)
    package = ctx.attr.deps[0]
    files = [(_path(f), f) for f in package[DefaultInfo].files.to_list()]
    files += [(f.basename, f) for f in ctx.files.description_file]
    license_files = []
    for target, path in ctx.attr.extra_distinfo_files.items():
        folder, _, name = path.partition("/")
        if folder != "licenses":
            fail("%s: extra_distinfo_files: '%s': expected 'licenses/...'." %
                 (ctx.label, path))
        license_files.append(name)
        files += [(name, f) for f in target[DefaultInfo].files.to_list()]

    pyproject = ctx.actions.declare_file(ctx.label.name + "/pyproject.toml")
    files.append((pyproject.basename, pyproject))
    ctx.actions.write(pyproject, _toml({
        "build-system": {
            "build-backend": "flit_core.buildapi",
            "requires": ["flit_core>=3.12,<4"],
        },
        "project": {
            "classifiers": ctx.attr.classifiers,
            "dependencies": ctx.attr.requires,
            "description": ctx.attr.summary,
            "license": ctx.attr.license,
            "license-files": license_files,
            "name": ctx.attr.distribution,
            "readme": "".join([f.basename for f in ctx.files.description_file]),
            "requires-python": ctx.attr.python_requires,
            "version": ctx.attr.version,
        },
        "[project.authors]": {"name": ctx.attr.author},
        "project.optional-dependencies": ctx.attr.extra_requires,
        "project.scripts": ctx.attr.console_scripts,
        "project.urls": ctx.attr.project_urls,
        "tool.flit.module": {"name": package[_PyPackageInfo].name},
    }))

    stem = "%s-%s" % (ctx.attr.distribution.replace("-", "_"), ctx.attr.version)
    wheel = ctx.actions.declare_file(stem + "-py3-none-any.whl")
    sdist = ctx.actions.declare_file(stem + ".tar.gz")
    ctx.actions.run(
        executable = ctx.executable._make_wheel,
        arguments = [wheel.path, sdist.path] +
                    ["%s=%s" % (path, file.path) for path, file in files],
        inputs = [file for _, file in files],
        outputs = [wheel, sdist],
        mnemonic = "PyWheel",
    )
    return [
        DefaultInfo(files = depset([wheel]), runfiles = ctx.runfiles([wheel])),
        OutputGroupInfo(sdist = depset([sdist])),
    ]

py_wheel = rule(
    implementation = _py_wheel_impl,
    doc = """Packs a `py_package` into a wheel for every Python 3 and platform.

The output group `sdist` is the source distribution, which pip builds into the
same wheel. Both depend on the names and the bytes of the files alone.
`extra_distinfo_files` holds license files, each as 'licenses/...'.
""",
    attrs = {
        "author": attr.string(),
        "classifiers": attr.string_list(),
        "console_scripts": attr.string_dict(doc = "Name: 'module:function'."),
        "deps": attr.label_list(mandatory = True, providers = [_PyPackageInfo]),
        "description_file": attr.label(allow_single_file = [".md", ".rst"]),
        "distribution": attr.string(mandatory = True),
        "extra_distinfo_files": attr.label_keyed_string_dict(allow_files = True),
        "extra_requires": attr.string_list_dict(doc = "Extra: requirements."),
        "license": attr.string(doc = "An SPDX expression."),
        "project_urls": attr.string_dict(doc = "Label: URL."),
        "python_requires": attr.string(mandatory = True),
        "requires": attr.string_list(),
        "summary": attr.string(mandatory = True),
        "version": attr.string(mandatory = True),
        "_make_wheel": attr.label(
            cfg = "exec",
            default = "//tools/build_defs:make_wheel",
            executable = True,
        ),
    },
)
