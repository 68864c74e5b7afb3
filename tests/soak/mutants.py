"""The campaign "mutants": one change in the code that checks releases; some test must fail.

It looks for gaps in the tests, not for faults of Shoal, so ``make soak`` runs it only by its name. A mutant
that survives is printed; it gets a test, or a line in ``equivalent_mutants.toml`` that says why no test
could tell it. All verdicts are written to ``build/mutants.tsv``, with what was changed and the test that
noticed it.
"""

from __future__ import annotations

import ast
import functools
import importlib
import itertools
import json
import os
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import forged
import mutant_process
import worlds
from drawing import Draw
from soaking import Campaign, Finding, soak
from tests_of_functions import batches, failing, function_at, noted

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("auditing", "release", "kernels", "recoding")
PACKAGE = ROOT / "src/shoal"
VERDICTS = ROOT / "build/mutants.tsv"
"""One line for each mutant: when, verdict, processor time, module, line, text before and after."""
SECONDS = 240
"""A mutant that keeps the tests busy for more processor time counts as killed, apart from the others."""
RANDOM = ((forged.CAMPAIGN, 15), (worlds.CAMPAIGN, 30))
"""Campaigns and the number of their cases that judge each mutant before tests do."""
NOTICED: dict[str, None] = {}
"""Tests that noticed mutants, in this order; they are to pass with the unchanged code as well."""
TOGETHER = 20
"""How many of them the unchanged code has to pass at a time: to begin with tests takes longer than most."""
FIRST = PACKAGE / "auditing/auditor.py"
LOADED = (
    *("pandas", "pyarrow", "pytest", "hypothesis.extra.numpy", "selenium.webdriver", "websocket", "rich"),
    *("shoal.engines.on_disk", "shoal.report", "shoal.cli.app", "shoal.web.server", "scipy.optimize"),
)
"""What tests load, beside the rooms: each copy of the process has it already."""

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift,
}  # fmt: skip
GUARDS = ("strict", "copy")
"""Arguments of `zip` and `astype` that decide about a check of our own or about time, not about results."""
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum"}


@dataclass(frozen=True)
class Mutant:
    """A changed module.

    Parameters
    ----------
    module
        Its path below the folder of the package.
    function
        The function in which it is changed.
    line, before, after
        Where it is changed, and the changed line, as `ast.unparse` writes it.
    tree
        The code of the changed module.
    """

    module: str
    function: str
    line: int
    before: str
    after: str
    tree: ast.Module

    @property
    def name(self) -> str:
        """What was changed, in a line."""
        return f"{self.module}: {self.before} -> {self.after}"


ENDS = {
    mutant_process.NOT_APPLIED: "not applied",
    mutant_process.TOO_SLOW: "killed: too slow",
    mutant_process.KILLED: "killed",
    mutant_process.KILLED_BY_TESTS: "killed by tests",
    mutant_process.SURVIVED: "survives",
}


def case(draw: Draw, folder: Path) -> str:
    """Change a module in a copy of this process, and run the tests that call what was changed there."""
    prepare()
    mutant = drawn_mutant(draw)
    if mutant.name in equivalent():
        return "equivalent"
    verdict = verdict_of(mutant, folder)
    CAMPAIGN.counts["mutants"] += 1
    if verdict == "survives":
        raise Finding(f"survives: line {mutant.line} of {mutant.name!r}")
    return verdict


def verdict_of(mutant: Mutant, folder: Path) -> str:
    """Return whether a mutant is killed or survives, and write it down."""
    began = sum(os.times()[2:4])
    file, ran = PACKAGE / mutant.module, folder / "tests"
    judge = functools.partial(judged, mutant.module, mutant.function, ran)
    code = mutant_process.tried(file, mutant.tree, judge, SECONDS)
    verdict = ENDS[code]
    tests: list[str] = []
    if code == mutant_process.KILLED_BY_TESTS and ran.exists():
        tests = json.loads(ran.read_text(encoding="utf-8"))
        NOTICED.update(dict.fromkeys(tests))
    seconds = sum(os.times()[2:4]) - began
    by = tests[0] if len(tests) == 1 else ""
    write_down(verdict, seconds, mutant.module, mutant.line, mutant.before, mutant.after, by)
    if len(NOTICED) >= TOGETHER:
        require_tests(ran)
    return verdict


def write_down(
    verdict: str, seconds: float, module: str, line: int, before: str, after: str, by: str = ""
) -> None:
    """Add a mutant to the list of all that were judged."""
    VERDICTS.parent.mkdir(exist_ok=True)
    words = (time.strftime("%F %T"), verdict, f"{seconds:.1f}", module, str(line), before, after, by)
    with VERDICTS.open("a", encoding="utf-8") as file:
        file.write("\t".join(words) + "\n")


@functools.cache
def prepare() -> None:
    """Load all that tests need, once, and see that the unchanged code passes random cases.

    Raises
    ------
    Finding
        If it does not, or loading it has used Polars.
    """
    rooms = [f"shoal.{room}.{file.stem}" for room in ROOMS for file in (PACKAGE / room).glob("[a-z]*.py")]
    for name in (*rooms, *LOADED):
        importlib.import_module(name)
    if "polars-0" in mutant_process.threads():
        raise Finding("Polars has started its threads, for which copies of this process would wait for ever")
    if mutant_process.tried(FIRST, ast.parse(FIRST.read_text(encoding="utf-8")), random_cases, SECONDS):
        raise Finding("random cases fail without a change")
    noted()


def require_tests(ran: Path) -> None:
    """Check that the unchanged code passes the tests that changed modules did not pass.

    Parameters
    ----------
    ran
        A file for the one that it does not pass, if there is one.

    Raises
    ------
    Finding
        If there is.
    """
    tests = list(NOTICED)
    NOTICED.clear()
    unchanged = ast.parse(FIRST.read_text(encoding="utf-8"))
    if mutant_process.tried(FIRST, unchanged, lambda: int(noticed_by(tests, ran)), 10 * SECONDS):
        raise Finding(f"fails without a change: {ran.read_text(encoding='utf-8')}")


def judged(module: str, function: str, ran: Path) -> int:
    """Return whether a change of a function is noticed: by random cases, then by the tests that call it.

    The test that noticed it is written to a file, or all that were running if none of them ended.
    """
    if random_cases():
        return mutant_process.KILLED
    noticed = any(noticed_by(tests, ran) for tests in batches(module, function))
    return mutant_process.KILLED_BY_TESTS if noticed else mutant_process.SURVIVED


def noticed_by(tests: list[str], ran: Path) -> bool:
    """Return whether one of some tests fails, and write its name to a file."""
    ran.write_text(json.dumps(tests), encoding="utf-8")  # in case that none of them ends
    found = failing(tests)
    ran.write_text(json.dumps(found), encoding="utf-8")
    return found is not None


def random_cases() -> int:
    """Return whether random cases of other campaigns have a finding."""
    return int(any(soak(each, cases=cases).findings for each, cases in RANDOM))


def drawn_mutant(draw: Draw) -> Mutant:
    """Draw a module, in proportion to the places to change, and one of them."""
    counts = numbers_of_places()
    module = draw.choices(list(counts), list(counts.values()))[0]
    tree = ast.parse(sources()[module])
    before = ast.unparse(tree).split("\n")
    node, field = draw.choice(list(places(tree)))
    line = getattr(node, "lineno", 0)
    function = function_at(tree, line)
    change(draw, node, field)
    after = ast.unparse(ast.fix_missing_locations(tree)).split("\n")
    at = next(place for place, (one, two) in enumerate(zip(before, after, strict=False)) if one != two)
    return Mutant(module, function, line, *around(before[at].strip(), after[at].strip()), tree)


def shared(one: str, two: str) -> int:
    """Return how many characters two texts share at their beginning."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))


def around(before: str, after: str) -> tuple[str, str]:
    """Return the differing parts of two lines, with at most 60 characters of what they share on each side."""
    first = shared(before, after)
    last = shared(before[first:][::-1], after[first:][::-1])
    begin = max(first - 60, 0)
    return before[begin : len(before) - max(last - 60, 0)], after[begin : len(after) - max(last - 60, 0)]


@functools.cache
def sources() -> dict[str, str]:
    """Return the text of each module that can be changed."""
    files = [file for room in ROOMS for file in sorted((PACKAGE / room).glob("*.py"))]
    return {str(file.relative_to(PACKAGE)): file.read_text(encoding="utf-8") for file in files}


@functools.cache
def numbers_of_places() -> dict[str, int]:
    """Return in how many places each module can be changed."""
    return {module: sum(1 for _ in places(ast.parse(source))) for module, source in sources().items()}


def places(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Yield what can be changed in a module: a node, and what about it.

    Only the bodies of functions are changed; annotations, texts of messages and raised errors are not.
    """
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for statement in function.body:
                yield from _within(statement)


def _within(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    match node:
        case ast.FunctionDef() | ast.JoinedStr() | ast.Raise() | ast.Import() | ast.ImportFrom():
            return  # a function inside is found on its own
        case ast.Expr(value=ast.Constant()):
            return
        case ast.keyword(arg=name) if name in GUARDS:
            return
        case ast.AnnAssign():
            if node.value is not None:
                yield from _within(node.value)
            return
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return
        case ast.If() | ast.IfExp() | ast.While():
            yield node, "test"
        case ast.Compare() if type(node.ops[0]) in COMPARISONS:
            yield node, "comparison"
        case ast.BinOp() if type(node.op) in OPERATORS:
            yield node, "operator"
        case ast.BoolOp():
            yield node, "boolean"
        case ast.Constant() if isinstance(node.value, (bool, int)):
            yield node, "constant"
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in CALLS:
            yield node, "call"
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield node, "statement"
    for each in ast.iter_child_nodes(node):
        yield from _within(each)


def change(draw: Draw, node: ast.AST, field: str) -> None:
    """Change a node of a tree."""
    match node, field:
        case ((ast.If() | ast.IfExp() | ast.While()), "test"):
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Compare(), "comparison":
            node.ops[0] = COMPARISONS[type(node.ops[0])]()
        case ast.BinOp(), "operator":
            node.op = OPERATORS[type(node.op)]()
        case ast.BoolOp(), "boolean":
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.Constant(), "constant":
            value = node.value
            node.value = not value if isinstance(value, bool) else value + draw.choice([-1, 1])  # type: ignore[operator]
        case ast.Call(), "call":
            _rename(node.func)
        case ast.Expr(), "statement":
            node.value = ast.Constant(None)
        case ast.AugAssign(), "statement":
            node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()


def _rename(function: ast.expr) -> None:
    if isinstance(function, ast.Name):
        function.id = CALLS[function.id]
    elif isinstance(function, ast.Attribute):
        function.attr = CALLS[function.attr]


@functools.cache
def equivalent() -> dict[str, str]:
    """Return the mutants that behave as the module does, and why."""
    listed = tomllib.loads((Path(__file__).with_name("equivalent_mutants.toml")).read_text(encoding="utf-8"))
    return {each["mutant"]: each["why"] for each in listed["equivalent"]}


CAMPAIGN = Campaign("mutants", case, slice=0, by_name=True)
