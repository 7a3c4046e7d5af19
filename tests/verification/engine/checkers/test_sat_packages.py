"""The three SAT packages that ship: whole, alike where they must be, and about formulas that can be satisfied."""

import functools
import hashlib
import importlib.util
import json
from pathlib import Path

import pytest
from pysat.solvers import Cadical153, Minisat22

from verification.engine.checkers import sat_build, sat_fast, sat_plain
from verification.engine.checkers.registry import BUILTINS
from verification.engine.documents import validate_document
from verification.engine.hashes import fixture_set_hash, normative_hash
from verification.engine.plan import contract_findings

ROOT = Path(__file__).parents[4]
PACKAGES = ROOT / "docs" / "packages"
NAMES = ["sat-small", "sat-structured", "sat-large"]
CANONICAL = ROOT / "verification" / "engine" / "examples" / "verifier-contract.sat.json"
MADE_BY_HAND = {"problem.json", "statement.md", "skill.md"}

SCHUR_COLOURING = {1: [1, 4, 10, 13], 2: [2, 3, 11, 12], 3: [5, 6, 7, 8, 9]}


def script(name):
    spec = importlib.util.spec_from_file_location(name, PACKAGES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def document(package, name):
    return json.loads((PACKAGES / package / name).read_bytes())


def answer_lines(literals):
    return b"s SATISFIABLE\nv " + b"\nv ".join(b"%d" % literal for literal in literals) + b" 0\n"


@functools.cache
def solved(instance):
    """The clauses of a well-formed file, and a real solver's literals for them."""
    lines = [line.split() for line in instance.decode().splitlines() if line[0] not in "cp"]
    clauses = [[int(literal) for literal in line[:-1]] for line in lines]
    with Cadical153(bootstrap_with=clauses) as solver:
        solver.solve()
        return clauses, solver.get_model()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """The directory with the made package and the assignment beside it."""
    package = script("make_sat_large").make(tmp_path_factory.mktemp("packages"))
    return package.parent


def test_what_is_made_is_what_is_committed():
    committed = {
        str(path.relative_to(PACKAGES)): path.read_bytes()
        for path in PACKAGES.rglob("*")
        if path.is_file() and path.parent != PACKAGES and path.name not in MADE_BY_HAND and path.suffix != ".pyc"
    }

    assert committed == script("make_sat_packages").made_files()


@pytest.mark.parametrize("package", NAMES)
def test_a_packages_documents_are_valid(package):
    assert validate_document("package", document(package, "problem.json")) == []
    assert validate_document("verifier", document(package, "verifier.json")) == []
    assert validate_document("verifier-contract", document(package, "contract.json")) == []
    assert contract_findings(document(package, "contract.json")) == []


def test_the_packages_share_the_canonical_contract_and_its_fixture_set():
    canonical = json.loads(CANONICAL.read_bytes())
    contracts = [document(package, "contract.json") for package in NAMES]

    assert {normative_hash(contract) for contract in contracts} == {canonical["normative_hash"]}
    assert {fixture_set_hash(contract["conformance_fixtures"]) for contract in contracts} == {
        fixture_set_hash(canonical["conformance_fixtures"])
    }


@pytest.mark.parametrize("package", NAMES)
def test_an_implementation_names_a_builtin_that_ships(package):
    implementation = document(package, "implementations/assignment_check.json")
    published = {
        "schema": "tfp.verifier-implementation/v1",
        "stage_key": "assignment_check",
        **implementation,
        "runtime": {"image_ref": implementation["runtime"], "image_digest": BUILTINS["sat-assignment"].image_digest},
    }

    assert implementation["runtime"] == BUILTINS["sat-assignment"].image_ref
    assert validate_document("verifier-implementation", published) == []
    assert document(package, "contract.json")["reference_inputs"][0]["validator"]["builtin"] in BUILTINS


@pytest.mark.parametrize("package", NAMES)
def test_fixture_bytes_are_those_the_contract_states_and_give_the_stated_result(package):
    fixtures = document(package, "contract.json")["conformance_fixtures"]

    for fixture in fixtures:
        folder = PACKAGES / package / "fixtures" / fixture["key"]
        files = {
            "reference": (folder / "reference" / "instance").read_bytes(),
            "artifacts": (folder / "artifacts" / "assignment").read_bytes(),
        }
        for kind, name in (("reference", "instance"), ("artifacts", "assignment")):
            stated = fixture[kind][name]
            found = (f"sha256:{hashlib.sha256(files[kind]).hexdigest()}", len(files[kind]))
            assert found == (stated["content_hash"], stated["size_bytes"])
        assert sat_plain.check(files["reference"], files["artifacts"]).result == fixture["expected_result"]

    assert [(fixture["key"], fixture["expected_result"]) for fixture in fixtures] == [
        ("satisfying", "verified"),
        ("falsified_clause", "refuted"),
        ("incomplete", "refuted"),
        ("unreadable", "inconclusive"),
    ]


def test_the_known_colouring_of_13_numbers_solves_the_small_problem():
    instance = (PACKAGES / "sat-small/reference/instance").read_bytes()
    has = {3 * (number - 1) + colour for colour, numbers in SCHUR_COLOURING.items() for number in numbers}

    answer = sat_plain.check(instance, answer_lines(v if v in has else -v for v in range(1, 40)))

    assert (answer.result, list(answer.summary.values())) == ("verified", [178, 178, 39, 39])


def test_every_solution_of_the_small_formula_keeps_the_rule():
    instance = (PACKAGES / "sat-small/reference/instance").read_bytes()
    clauses, _ = solved(instance)

    with Minisat22(bootstrap_with=clauses) as solver:
        solutions = list(solver.enum_models())

    assert solutions != []
    for solution in solutions:
        colour = {(v - 1) // 3 + 1: (v - 1) % 3 + 1 for v in solution if v > 0}
        assert sorted(colour) == list(range(1, 14))
        assert [(a, b) for a in colour for b in colour if a + b <= 13 and colour[a] == colour[b] == colour[a + b]] == []


def test_a_real_solvers_answer_to_the_structured_formula_is_verified_and_is_a_colouring():
    instance = (PACKAGES / "sat-structured/reference/instance").read_bytes()
    clauses, literals = solved(instance)

    answer = sat_plain.check(instance, answer_lines(literals))

    assert (answer.result, list(answer.summary.values())) == ("verified", [11362, 11362, 5000, 5000])
    squares = {number * number: number for number in range(1, 5001)}
    is_first = {abs(literal): literal > 0 for literal in literals}
    triples = [
        (a, b, squares[a * a + b * b]) for a in range(1, 5001) for b in range(a, 5001) if a * a + b * b in squares
    ]
    assert len(triples) * 2 == len(clauses)
    assert [triple for triple in triples if len({is_first[side] for side in triple}) == 1] == []


def test_a_solvers_answer_with_one_side_of_a_tight_triple_flipped_is_refuted_at_that_clause():
    instance = (PACKAGES / "sat-structured/reference/instance").read_bytes()
    clauses, literals = solved(instance)
    chosen = set(literals)
    broken = {
        literal: [number for number, clause in enumerate(clauses, 1) if chosen.intersection(clause) == {literal}]
        for clause in clauses[:200]
        for literal in chosen.intersection(clause)
    }
    flipped, numbers = next((literal, numbers) for literal, numbers in broken.items() if numbers)

    answer = sat_plain.check(instance, answer_lines(-x if x == flipped else x for x in literals))

    text = " ".join(map(str, [*clauses[numbers[0] - 1], 0]))
    assert answer.result == "refuted"
    assert answer.finding == f'clause {numbers[0]} of 11362 is not satisfied: "{text}"'
    assert answer.summary["clauses_satisfied"] == 11362 - len(numbers)


def test_the_large_package_is_complete_just_below_the_limit_and_made_once(large):
    package, made = large / "sat-large", script("make_sat_large")
    before = (package / "reference/instance").stat().st_mtime_ns
    (package / "fixtures" / "stale").mkdir()

    made.make(large)

    shared = {path.relative_to(PACKAGES / "sat-large") for path in (PACKAGES / "sat-large").rglob("*")}
    assert {path.relative_to(package) for path in package.rglob("*")} - shared == {
        Path("reference"),
        Path("reference/instance"),
    }
    assert (package / "reference/instance").stat().st_mtime_ns == before
    assert 0 <= made.LIMIT_BYTES - (package / "reference/instance").stat().st_size < 32
    assert (large / "sat-large.assignment.txt").stat().st_size < 1_048_576


def test_both_readings_verify_the_planted_assignment_of_the_large_formula(large):
    instance = (large / "sat-large/reference/instance").read_bytes()
    assignment = (large / "sat-large.assignment.txt").read_bytes()

    answer = sat_plain.check(instance, assignment)

    assert (answer.result, list(answer.summary.values())) == ("verified", [480342, 480342, 125000, 125000])
    sat_build.main()
    try:
        quick = sat_fast.load()
    except sat_fast.NoQuickReading as trouble:
        pytest.skip(f"the quick reading cannot be built here: {trouble}")
    assert quick.check(instance, assignment).summary == answer.summary
    assert quick.validate(instance).reason == sat_plain.validate(instance).reason


def test_a_damaged_package_that_was_made_is_made_again(large):
    made, instance = script("make_sat_large"), large / "sat-large/reference/instance"
    whole = instance.read_bytes()
    instance.write_bytes(whole[:-1])

    made.make(large)

    assert instance.read_bytes() == whole
