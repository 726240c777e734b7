"""One transition in Python: the compiled reward against the same reward written by hand, in the same run."""

import peers
from timing import compare, table

from plaudit.systems import apex, deepthinker, hackmatrix, roadsense

CALLS, ROUNDS = 1_000, 200


def roadsense_rows() -> list[tuple[str, ...]]:
    hand = peers.Calculator()
    bare = roadsense.reward.compile("python", guard=False).function
    guarded = roadsense.reward.compile("python").function
    seed = roadsense.RewardCalculator()
    states = [(30.0, 1.0, 0), (12.0, 4.0, 3), (50.0, 2.0, 2), (4.0, 5.0, 0)]
    converted = [(d, q, float(a)) for d, q, a in states]  # past the door every number is a float
    rows = []
    contenders = {
        "hand-written class": lambda: [hand.calculate(distance=d, action=a, deceleration=q) for d, q, a in states],
        "compiled, no guard": lambda: [bare(d, q, a) for d, q, a in converted],
        "compiled, guarded": lambda: [guarded(d, q, a) for d, q, a in converted],
        "RewardCalculator": lambda: [seed.calculate(distance=d, action=a, deceleration=q) for d, q, a in states],
        "full Signal": lambda: [roadsense.reward.score(distance=d, deceleration=q, action=a) for d, q, a in states],
    }
    result = compare(contenders, calls=CALLS // 4, rounds=ROUNDS)
    for name in list(contenders)[1:]:
        rows.append(row("roadsense", name, result, "hand-written class", len(states)))
    return rows


def row(system, name, result, peer, count=1):
    return system, name, f"{result.best[name] / count * 1e9:.0f} ns", f"{result.ratio(name, peer):.2f}x"


def functions(system, hand, arguments, reward, inputs) -> list[tuple[str, ...]]:
    compiled = reward.compile("python", guard=False)
    ordered = compiled.convert_row(inputs)
    contenders = {
        "hand-written": lambda: hand(*arguments),
        "compiled, no guard": lambda: compiled.function(*ordered),
        "full Signal": lambda: reward.score(**inputs),
    }
    guarded = reward.compile("python").function
    contenders["compiled, guarded"] = lambda: guarded(*ordered)
    result = compare(contenders, calls=CALLS, rounds=ROUNDS)
    order = ["compiled, no guard", "compiled, guarded", "full Signal"]
    return [row(system, name, result, "hand-written") for name in order]


def main() -> None:
    rows: list[tuple[str, ...]] = [("system", "what", "a call", "against hand-written")]
    rows += roadsense_rows()
    step = apex.episode()[6]
    prev, curr = step["prev"], step["curr"]
    only = apex.reward.select_terms("phase_advance", "test_improvement", "token_cost", "switch_cost")
    rows += functions("apex", peers.apex, (prev, curr), only, {"prev": prev, "curr": curr})
    phase = deepthinker.episode()[2]
    rows += functions("deepthinker", peers.deepthinker, tuple(phase.values()), deepthinker.reward, phase)
    move = hackmatrix.episode()[3]
    flat = dict(zip(hackmatrix.reward.inputs, hackmatrix.reward.compile("python").convert_row(move), strict=True))
    rows += functions("hackmatrix", peers.hackmatrix, (flat,), hackmatrix.reward, move)
    table(rows)


if __name__ == "__main__":
    main()
