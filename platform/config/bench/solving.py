"""A plain backtracking SAT solver: enough for the smallest demonstration Problem, so that bench needs no other one."""


def satisfying_assignment(formula: str) -> bytes:
    """An assignment of the DIMACS formula, as participants submit it.

    Raises:
        ValueError: there is none.
    """
    lines = [line.split() for line in formula.splitlines() if line and line[0] not in "cp"]
    clauses = [frozenset(int(word) for word in line[:-1]) for line in lines]
    found = _solve(clauses, {})
    if found is None:
        raise ValueError("expected a formula that can be satisfied, found one that cannot")
    variables = {abs(literal) for clause in clauses for literal in clause}
    literals = [variable if found.get(variable, True) else -variable for variable in sorted(variables)]
    return f"s SATISFIABLE\nv {' '.join(map(str, literals))} 0\n".encode()


def _solve(clauses: list[frozenset[int]], chosen: dict[int, bool]) -> dict[int, bool] | None:
    while unit := next((clause for clause in clauses if len(clause) == 1), None):
        (literal,) = unit
        chosen = chosen | {abs(literal): literal > 0}
        clauses = _assume(clauses, literal)
    if not clauses:
        return chosen
    if frozenset() in clauses:
        return None
    (literal, *_) = sorted(clauses, key=len)[0]
    for side in (literal, -literal):
        found = _solve(_assume(clauses, side), chosen | {abs(side): side > 0})
        if found is not None:
            return found
    return None


def _assume(clauses: list[frozenset[int]], literal: int) -> list[frozenset[int]]:
    return [clause - {-literal} for clause in clauses if literal not in clause]
