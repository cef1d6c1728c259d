"""The size of the code: lines, functions, classes, names with several homes, files of a change.

    python benchmarks/codebase.py                     print the numbers of this checkout
    python benchmarks/codebase.py --before CHECKOUT   write results/codebase.json: another, and this
    python benchmarks/codebase.py --change BASE       the files that differ from a commit, by folder

Lines are those of the files as they are formatted, comments and blank lines included. Methods of a
class are its own and those it inherits from classes of this package.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
RESULT = ROOT / "benchmarks" / "results" / "codebase.json"
MANY = 30  # methods of a class
LONG = 50  # lines of a function


def measured(checkout):
    """All numbers of one checkout."""
    package = checkout / "src" / "trust_recourse"
    trees = {path: ast.parse(path.read_text()) for path in sorted(package.rglob("*.py"))}
    lengths = np.array(
        [
            node.end_lineno - node.lineno + 1
            for tree in trees.values()
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
    )
    folders = lines_by_folder(checkout)
    methods = methods_by_class(trees, package)
    classes, modules = homes(trees)
    return {
        "lines": sum(folders.values()),
        "lines by folder": folders,
        "files": len(trees) + len(native(checkout)),
        "functions": len(lengths),
        "lines of a function": {
            "median": int(np.median(lengths)),
            "95th percentile": int(np.percentile(lengths, 95)),
            "most": int(lengths.max()),
            f"over {LONG}": int((lengths > LONG).sum()),
        },
        f"classes of more than {MANY} methods": {
            name: many for name, many in sorted(methods.items(), key=lambda e: -e[1]) if many > MANY
        },
        "classes with several homes": classes,
        "modules with several homes": modules,
    }


def native(checkout):
    """The sources of the extension and its public header."""
    folders = (checkout / "src" / "native", checkout / "src" / "trust_recourse" / "include")
    found = (path for folder in folders for path in folder.rglob("*"))
    return sorted(path for path in found if path.suffix in (".cpp", ".hpp", ".h"))


def lines_by_folder(checkout):
    """Lines of Python and C++ by the folder below the package, most first."""
    package = checkout / "src" / "trust_recourse"
    found = Counter({"native": sum(map(lines, native(checkout)))})
    for path in package.rglob("*.py*"):
        if path.suffix in (".py", ".pyi"):
            inside = path.relative_to(package).parts
            found[inside[0] if len(inside) > 1 else "(root)"] += lines(path)
    return dict(found.most_common())


def lines(path):
    return path.read_text().count("\n")


def methods_by_class(trees, package):
    """Methods of each class by its name and module, inherited ones of this package included."""
    own, bases, names = {}, {}, defaultdict(dict)
    for path, tree in trees.items():
        module = module_of(path, package)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                names[module][node.name] = (module, node.name)
            elif isinstance(node, ast.ImportFrom) and node.module:
                home = node.module.removeprefix("trust_recourse.")
                for alias in node.names:
                    names[module].setdefault(alias.asname or alias.name, (home, alias.name))
    for path, tree in trees.items():
        module = module_of(path, package)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                key = module, node.name
                own[key] = {
                    each.name
                    for each in node.body
                    if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
                }
                known = (getattr(each, "value", each) for each in node.bases)  # Of[T] is Of
                bases[key] = [names[module].get(getattr(each, "id", "")) for each in known]

    def all_of(key, seen=()):
        if key is None or key not in own or key in seen:
            return set()
        return own[key].union(*(all_of(base, (*seen, key)) for base in bases[key]))

    return {f"{name} ({module})": len(all_of((module, name))) for module, name in own}


def module_of(path, package):
    parts = path.relative_to(package).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def homes(trees):
    """Names of top-level classes, and of modules, that occur more than once, and how often."""
    classes = Counter(
        node.name for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)
    )
    modules = Counter(path.stem for path in trees if not path.stem.startswith("__"))
    return tuple(
        {name: times for name, times in found.most_common() if times > 1}
        for found in (classes, modules)
    )


def files_of_change(base):
    """The files that differ from a commit, those that git does not know included, by top folder."""
    asked = (["diff", "--name-only", base], ["ls-files", "--others", "--exclude-standard"])
    found = {
        name
        for each in asked
        for name in subprocess.run(
            ["git", *each], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split()
    }
    return {
        folder: sorted(name for name in found if name.partition("/")[0] == folder)
        for folder in sorted({name.partition("/")[0] for name in found})
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, help="a checkout to compare with")
    parser.add_argument("--change", metavar="BASE", help="list the files that differ from a commit")
    given = parser.parse_args()
    if given.change:
        told = files_of_change(given.change)
        told = {"files": sum(map(len, told.values())), **told}
    elif given.before:
        told = {"before": measured(given.before), "after": measured(ROOT)}
        RESULT.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    else:
        told = measured(ROOT)
    print(json.dumps(told, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
