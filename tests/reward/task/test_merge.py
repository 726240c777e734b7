"""Two tasks joined into one."""

from plaudit import Task, prefer


def test_a_preference_that_both_have_is_there_once():
    near, far = prefer({"x": 1.0}, over={"x": 9.0}), prefer({"x": 2.0}, over={"x": 8.0})
    both = Task(prefer=[near]).merge(Task(prefer=[near, far]))
    assert both.prefer == (near, far)
    assert Task(prefer=[near]).merge(Task(prefer=[near])).fingerprint == Task(prefer=[near]).fingerprint
