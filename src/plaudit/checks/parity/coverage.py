"""Which branches of a reward rows have taken, and whether other branches can be taken."""

from typing import Any

from plaudit.checks.branches import Branch, Branches, Requirement
from plaudit.checks.model import RewardModel, drop_sure_guards
from plaudit.checks.solver.deadline import TIME_IS_UP, Deadline
from plaudit.checks.solver.question import Copy, Impossible, Question, SolverAnswer, Unknown
from plaudit.checks.solver.ranges import NumericRow
from plaudit.checks.solver.solver import Solver, TimeIsUp
from plaudit.language import nodes as n
from plaudit.rows.row import FlatRow


class Coverage:
    """The branches that rows have taken so far."""

    def __init__(self, branches: Branches) -> None:
        """Begin with none."""
        self.branches = branches
        self._taken: set[Branch] = set()

    def add(self, row: FlatRow) -> None:
        """Add the branches that a row takes."""
        if len(self._taken) < len(self.branches.all):
            self._taken |= self.branches.find_taken(self.branches.trace.values(row))

    def describe_rest(self, questions: "BranchQuestions") -> dict[str, Any]:
        """Return the branch parts of a report: their number, those that no row took, those that none can take."""
        rest = [branch for branch in self.branches.all if branch not in self._taken]
        impossible = {branch for branch in rest if isinstance(questions.find_row(branch), Impossible)}
        return {
            "branches": len(self.branches.all),
            "unreached": tuple(self.branches.describe(branch) for branch in rest if branch not in impossible),
            "unreachable": tuple(self.branches.describe(branch) for branch in rest if branch in impossible),
        }


class BranchQuestions:
    """Asks the solver for rows that take a branch, within the declared ranges and the facts."""

    def __init__(self, branches: Branches, model: RewardModel, *, seconds: float) -> None:
        """Limit the total time to `seconds`."""
        self.branches = branches
        self._model = model
        self._solver = Solver(Deadline.after(seconds))
        self._reached: dict[str, dict[int, int]] = {}
        self._answers: dict[Branch, SolverAnswer] = {}
        self._question = Question()
        self._copy: Copy = self._question.copy(drop_sure_guards(branches.program))
        model.require_facts(self._question)

    def find_row(self, branch: Branch) -> SolverAnswer:
        """Return a row that takes a branch, Impossible where there is none."""
        if branch not in self._answers:
            try:
                self._answers[branch] = self._ask(branch)
            except TimeIsUp:
                return Unknown(TIME_IS_UP)
        return self._answers[branch]

    def complete_row(self, row: NumericRow) -> NumericRow:
        """Return a row of an answer, completed with the inputs that it leaves open."""
        return self._model.complete_row(row)

    def _ask(self, branch: Branch) -> SolverAnswer:
        flags = [self._find_reached(branch.decision.root)[branch.decision.user]]
        flags += map(self._require, self.branches.list_requirements(branch))
        return self._solver.find_example(self._question, self._question.all(dict.fromkeys(flags)))

    def _find_reached(self, root: str) -> dict[int, int]:
        """Return for each node of an output the flag that says whether the output depends on it."""
        if root not in self._reached:
            self._reached[root] = self._build_reached(root)
        return self._reached[root]

    def _build_reached(self, root: str) -> dict[int, int]:
        branches, builder = self.branches, self._question.builder
        walk = branches.walks[root]
        reached = {walk.root: builder.const(True)}

        def add(at: int, user: int, *flags: int) -> None:
            flag = self._question.all([reached[user], *flags])
            reached[at] = builder.simplify(n.Or(reached[at], flag)) if at in reached else flag

        for at in walk.order:
            if at not in reached:
                continue
            for decision in walk.parts.get(at, ()):
                if decision.node != at:
                    add(decision.node, at, *map(self._require, decision.given))
            for operand, needed in branches.list_operands(at):
                add(operand, at, *map(self._require, needed))
        return reached

    def _require(self, requirement: Requirement) -> int:
        question, copy = self._question, self._copy
        if len(requirement) == 2:
            at, wanted = requirement
            return copy.at(at) if wanted else question.negate(copy.at(at))
        left, kind, right = requirement
        return question.compare(
            copy.at(left), kind, question.number(right) if isinstance(right, float) else copy.at(right)
        )
