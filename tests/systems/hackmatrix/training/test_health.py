"""Verdicts on runs."""

from plaudit.systems.hackmatrix.training.health import judge_health


def run(**columns):
    """Return rows of healthy updates, but for some columns."""
    length = max((len(values) for values in columns.values()), default=3)
    rows = [{"update": at + 1, "kl": 0.01, "clip_fraction": 0.1, "entropy_share": 0.8} for at in range(length)]
    for name, values in columns.items():
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    return rows


def test_a_healthy_run_is_healthy_by_every_measure():
    assert [str(each) for each in judge_health(run())] == ["healthy"] * 3
    assert all(each.healthy and each.to_dict()["since_update"] is None for each in judge_health(run()))


def test_what_is_not_healthy_is_told_with_the_update_since_which():
    kl, clip_fraction, _ = judge_health(run(kl=[0.01, 0.07, 0.08], clip_fraction=[0.1, 0.31, 0.1]))
    assert str(kl) == "unhealthy since update 2: 2 of 3 updates, still at the end"
    assert str(clip_fraction) == "unhealthy since update 2: 1 of 3 updates, healthy at the end"
    assert (kl.since, kl.worst, kl.last) == (2, 0.08, 0.08)


def test_entropy_collapses_when_next_to_nothing_is_left_of_it():
    *_, entropy = judge_health(run(entropy_share=[0.9, 0.06, 0.04]))
    assert (entropy.since, entropy.worst, entropy.healthy) == (3, 0.04, False)


def test_limits_themselves_are_not_healthy_and_neither_is_what_is_no_number():
    kl, clip_fraction, entropy = judge_health(run(kl=[0.06], clip_fraction=[0.3], entropy_share=[None]))
    assert not kl.healthy
    assert not clip_fraction.healthy
    assert not entropy.healthy


def test_of_a_run_without_updates_nothing_is_said():
    assert judge_health([]) == ()
