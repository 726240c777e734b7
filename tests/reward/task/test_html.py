"""A task in a notebook: a table of what is said, and where each line comes from."""

from plaudit import Field, Reward, Seen, Task, term

TASK = Task(
    "<b>landing",
    doc="Come down & live.",
    better={"fuel": "high"},
    horizon=500,
    seen={"horizon": Seen(12, 12, "episodes")},
    source="Lander-v1",
)


def test_a_task_is_a_table_of_what_is_said_and_where_it_comes_from():
    shown = TASK._repr_html_()
    assert "&lt;b&gt;landing@1" in shown
    assert "<b>landing" not in shown
    assert TASK.fingerprint[:12] in shown
    assert "Come down &amp; live." in shown
    assert "seen in Lander-v1" in shown
    for cell in ("500 steps", "seen in 12 of 12 episodes", "fuel", "high", "declared"):
        assert cell in shown


def test_a_task_that_says_nothing_says_so():
    assert "nothing declared" in Task()._repr_html_()


def test_a_reward_shows_its_task_and_none_where_it_has_none():
    @term
    def saves(fuel):
        return fuel

    bare = Reward("saving", version="1", terms=[saves], fields=[Field("fuel", low=0, high=1)])
    assert "<summary>Task &lt;b&gt;landing@1</summary>" in bare.with_task(TASK)._repr_html_()
    assert "Task" not in bare._repr_html_()
