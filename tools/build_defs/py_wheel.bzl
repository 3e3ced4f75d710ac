# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rules that pack py_library targets into a wheel and an sdist.

`py_package` and `py_wheel` take the attributes of the rules of these names in
rules_python, by the same names, of the same types and with the same meaning: a
target written for these works with a `load` of
`@rules_python//python:packaging.bzl` in place of this one. What they lack of
rules_python's, and where they are stricter, their docs say.
"""

load("//tools/build_defs:python.bzl", "PyInfo")

PyWheelInfo = provider(
    doc = "What a `py_wheel` packs, for a rule that packs it otherwise.",
    fields = {
        "description": "File: what make_wheel.py reads.",
        "inputs": "Depset of File: what the description names.",
        "stem": "String: `<name>-<version>` as in the names of the files.",
    },
)

_MODULE_EXTENSIONS = ["py", "pyi"]

def _path_in_repository(file):
    """Returns a file's path below the root of the repository it belongs to."""
    if file.short_path.startswith("../"):
        return file.short_path.split("/", 2)[2]
    return file.short_path

def _is_first_party(ctx, file):
    # Bazel's runfiles alone need the `__init__.py` of a whole repository.
    return (file.owner.workspace_name == ctx.label.workspace_name and
            _path_in_repository(file) != "__init__.py")

def _first_party_files(ctx):
    """Returns the files that the deps bring, data included, in a fixed order."""
    files = depset(transitive = [
        depset(transitive = [
            dep[PyInfo].transitive_sources,
            dep[DefaultInfo].default_runfiles.files,
        ])
        for dep in ctx.attr.deps
    ])
    return [f for f in files.to_list() if _is_first_party(ctx, f)]

def _py_package_impl(ctx):
    files = _first_party_files(ctx)
    folders = [p.replace(".", "/") + "/" for p in ctx.attr.packages]
    for file in files:
        path = _path_in_repository(file)
        if folders and not any([path.startswith(f) for f in folders]):
            fail(("%s reaches %s, which lies outside of its packages (%s): " +
                  "whoever installed them would miss it. Keep it out of the " +
                  "deps.") %
                 (ctx.label, path, ", ".join(ctx.attr.packages)))
    return [
        DefaultInfo(
            files = depset(files),
            runfiles = ctx.runfiles(files),
        ),
        PyInfo(transitive_sources = depset([
            f
            for f in files
            if f.extension in _MODULE_EXTENSIONS
        ])),
    ]

_DEPS = attr.label_list(
    doc = "What to pack, with all that it depends on in this repository.",
    mandatory = True,
    providers = [PyInfo],
)

py_package = rule(
    implementation = _py_package_impl,
    doc = """The files of a Python package: its targets and all they depend on.

Files of other repositories stay out: they are what the wheel `requires`. Where
rules_python drops a file of this repository that lies outside of the packages,
this refuses the target: the package would lack that file at run time.
""",
    attrs = {
        "deps": _DEPS,
        "packages": attr.string_list(
            doc = "The packages, with dots, that every file must lie below; " +
                  "empty: anywhere.",
        ),
    },
)

def _packed_path(ctx, file):
    """Returns a file's path in the wheel."""
    path = _path_in_repository(file)
    for prefix in ctx.attr.strip_path_prefixes:
        if path.startswith(prefix):
            return path[len(prefix):].lstrip("/")
    return path

def _packed_files(ctx, files):
    """Returns a dict from path in the wheel to the path of the file."""
    packed = {}
    for file in files:
        path = _packed_path(ctx, file)
        if packed.setdefault(path, file.path) != file.path:
            fail("%s would pack two files as %s: %s and %s." %
                 (ctx.label, path, packed[path], file.path))
    return packed

def _import_package(ctx, paths):
    """Returns the name of the one folder that all paths lie below."""
    folders = {p.partition("/")[0]: p for p in reversed(sorted(paths))}
    if len(folders) != 1 or folders.values() == folders.keys():
        fail(("%s reaches files of more than one import package, or of none: " +
              "%s. A wheel holds one: keep the others out of the deps.") %
             (ctx.label, ", ".join(sorted(folders.values())) or "no file"))
    return folders.keys()[0]

def _license_files(ctx):
    """Returns a dict from path below the folder `licenses` to File."""
    files = {}
    for target, name in ctx.attr.extra_distinfo_files.items():
        folder, _, path = name.partition("/")
        targets_files = target[DefaultInfo].files.to_list()
        if folder != "licenses" or not path or len(targets_files) != 1:
            fail(("%s: extra_distinfo_files: %s as '%s': expected one file, " +
                  "as 'licenses/…'.") % (ctx.label, target.label, name))
        files[path] = targets_files[0]
    return files

def _entry_points(ctx):
    """Returns a dict from group to a dict from name to object."""
    groups = {}
    for group, entries in ctx.attr.entry_points.items():
        for entry in entries:
            name, equals, value = entry.partition("=")
            if not equals:
                fail("%s: entry_points: '%s': expected 'name = module:object'." %
                     (ctx.label, entry))
            groups.setdefault(group, {})[name.strip()] = value.strip()
    if ctx.attr.console_scripts:
        groups.setdefault("console_scripts", {}).update(ctx.attr.console_scripts)
    return groups

def _project(ctx):
    """Returns the table `project` of a pyproject.toml, without empty values."""
    entry_points = _entry_points(ctx)
    author = {"email": ctx.attr.author_email, "name": ctx.attr.author}
    author = {key: value for key, value in author.items() if value}
    urls = dict(ctx.attr.project_urls)
    if ctx.attr.homepage:
        urls["Homepage"] = ctx.attr.homepage
    project = {
        "authors": [author] if author else [],
        "classifiers": ctx.attr.classifiers,
        "dependencies": ctx.attr.requires,
        "description": ctx.attr.summary,
        "gui-scripts": entry_points.pop("gui_scripts", {}),
        "license": ctx.attr.license,
        "name": ctx.attr.distribution,
        "optional-dependencies": ctx.attr.extra_requires,
        "requires-python": ctx.attr.python_requires,
        "scripts": entry_points.pop("console_scripts", {}),
        "urls": urls,
        "version": ctx.attr.version,
    }
    project["entry-points"] = entry_points
    return {key: value for key, value in project.items() if value}

def _py_wheel_impl(ctx):
    files = _first_party_files(ctx)
    packed = _packed_files(ctx, files)
    license_files = _license_files(ctx)
    description = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(description, json.encode_indent({
        "description_content_type": ctx.attr.description_content_type,
        "description_file": getattr(ctx.file.description_file, "path", ""),
        "files": packed,
        "license_files": {p: f.path for p, f in license_files.items()},
        "package": _import_package(ctx, packed.keys()),
        "project": _project(ctx),
    }))
    inputs = depset(
        [description] + files + license_files.values() +
        ctx.files.description_file,
    )

    # As flit_core names it; make_wheel.py fails where that does otherwise.
    stem = "%s-%s" % (
        ctx.attr.distribution.replace("-", "_").replace(".", "_").lower(),
        ctx.attr.version,
    )
    wheel = ctx.actions.declare_file("%s-%s-%s-%s.whl" % (
        stem,
        ctx.attr.python_tag,
        ctx.attr.abi,
        ctx.attr.platform,
    ))
    ctx.actions.run(
        executable = ctx.executable._make_wheel,
        arguments = [description.path, wheel.path],
        inputs = inputs,
        outputs = [wheel],
        mnemonic = "PyWheel",
        progress_message = "Packing %s" % wheel.basename,
    )
    return [
        DefaultInfo(
            files = depset([wheel]),
            runfiles = ctx.runfiles([wheel]),
        ),
        PyWheelInfo(
            description = description,
            inputs = inputs,
            stem = stem,
        ),
    ]

_MAKE_WHEEL = attr.label(
    cfg = "exec",
    default = Label("//tools/build_defs:make_wheel"),
    executable = True,
)

py_wheel = rule(
    implementation = _py_wheel_impl,
    doc = """Packs the files of its deps, and of theirs, into a wheel.

Files of other repositories stay out: name them in `requires`. Tests cannot get
in, because what is testonly cannot be in the deps of what is not. All files
must lie below one folder, the import package; that of a `py_package` is checked
there. The wheel depends on the files' names and bytes alone.

Of rules_python's attributes it has none of `compress`, `data_files`,
`extra_requires_files`, `force_zip64`, `requires_file`, `stamp` and `twine`, and
takes no stamps or make variables in `version`. `python_requires` and `summary`
are mandatory. rules_python packs `deps` without what they depend on, so only a
`py_package` there is the same to both.
""",
    attrs = {
        "abi": attr.string(
            default = "none",
            doc = "Only wheels of Python alone can be packed.",
            values = ["none"],
        ),
        "author": attr.string(),
        "author_email": attr.string(),
        "classifiers": attr.string_list(
            doc = "None of 'License ::': `license` says that.",
        ),
        "console_scripts": attr.string_dict(
            doc = "Name of a command -> 'module:function'.",
        ),
        "deps": _DEPS,
        "description_content_type": attr.string(
            doc = "Empty: by the extension of the description_file: " +
                  "Markdown, reStructuredText, else plain text.",
        ),
        "description_file": attr.label(
            allow_single_file = True,
            doc = "What an index shows: a README.",
        ),
        "distribution": attr.string(
            doc = "The name on the package index.",
            mandatory = True,
        ),
        "entry_points": attr.string_list_dict(
            doc = "Name of a group -> its entries, 'name = module:object'.",
        ),
        "extra_distinfo_files": attr.label_keyed_string_dict(
            allow_files = True,
            doc = "File -> its path in the wheel's dist-info. Only licences, " +
                  "below 'licenses/'.",
        ),
        "extra_requires": attr.string_list_dict(
            doc = "Name of an extra -> its requirements.",
        ),
        "homepage": attr.string(
            doc = "Written as the Project-URL of that label, which is what " +
                  "has replaced the field Home-page.",
        ),
        "license": attr.string(doc = "An SPDX expression."),
        "platform": attr.string(
            default = "any",
            doc = "Only wheels of Python alone can be packed.",
            values = ["any"],
        ),
        "project_urls": attr.string_dict(doc = "Label -> URL."),
        "python_requires": attr.string(
            doc = "As in Requires-Python.",
            mandatory = True,
        ),
        "python_tag": attr.string(
            default = "py3",
            doc = "Only wheels of Python alone can be packed.",
            values = ["py3"],
        ),
        "requires": attr.string_list(doc = "As in Requires-Dist."),
        "strip_path_prefixes": attr.string_list(
            doc = "Tried in this order; a file loses the first that fits.",
        ),
        "summary": attr.string(doc = "One line.", mandatory = True),
        "version": attr.string(mandatory = True),
        "_make_wheel": _MAKE_WHEEL,
    },
)

def _py_sdist_impl(ctx):
    wheel = ctx.attr.wheel[PyWheelInfo]
    sdist = ctx.actions.declare_file(wheel.stem + ".tar.gz")
    ctx.actions.run(
        executable = ctx.executable._make_wheel,
        arguments = [wheel.description.path, sdist.path],
        inputs = wheel.inputs,
        outputs = [sdist],
        mnemonic = "PySdist",
        progress_message = "Packing %s" % sdist.basename,
    )
    return [DefaultInfo(
        files = depset([sdist]),
        runfiles = ctx.runfiles([sdist]),
    )]

py_sdist = rule(
    implementation = _py_sdist_impl,
    doc = """Packs what a wheel is made of, for pip to make that wheel of.

rules_python has no such rule.
""",
    attrs = {
        "wheel": attr.label(
            doc = "A `py_wheel` of this file.",
            mandatory = True,
            providers = [PyWheelInfo],
        ),
        "_make_wheel": _MAKE_WHEEL,
    },
)
