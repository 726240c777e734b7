"""HTML for notebooks: escaped, whole, and honest about what it leaves out."""

import re
from html import unescape

from plaudit import Field, Ledger, Reward, check, term
from plaudit.html import Markup, build_element, build_list, build_table, escape, join
from support.nights import record_night


@term(weight=-0.5, high=3)
def haste(speed):
    """Speed <costs>."""
    return speed


PARKING = Reward("parking", version="1", terms=[haste], fields=[Field("speed", low=0, high=9, unit="m/s")])


def strip(html):
    """Return the words of some HTML."""
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", html)).strip()


def test_a_string_is_text_and_only_markup_is_markup():
    assert escape("<script>alert('1')</script>") == "&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;"
    assert build_element("b", "<i>", Markup("<i>")) == "<b>&lt;i&gt;<i></b>"
    assert join("a", None, "", "<", separator=" & ") == "a &amp; &lt;"


def test_marks_that_turn_text_around_or_steer_are_spelled_out():
    assert escape("\u202eevil\x1b[31m\x00") == r"\u202eevil\x1b[31m\x00"
    assert escape("שלום") == "שלום"  # letters that are read from the right are letters


def test_a_long_table_says_how_many_rows_it_has():
    text = strip(build_table(["n"], ([n] for n in range(1000)), most=3))
    assert text == "n 0 1 2 3 of 1,000 shown"
    assert strip(build_table(["n"], iter([[0], [1]]), most=1, count=7)) == "n 0 1 of 7 shown"
    assert strip(build_table(["n"], [[0]])) == "n 0"


def test_a_column_that_holds_nothing_is_left_out():
    assert strip(build_table(["a", "b", "c"], [[1, None, 0], [2, "", 0]])) == "a c 1 0 2 0"


def test_a_long_list_says_how_many_entries_it_has():
    assert strip(build_list(["a", "b", "c"], most=2)) == "a b 2 of 3 shown"
    assert build_list([]) == ""


def test_a_reward_shows_its_terms_formulas_and_fields():
    text = PARKING._repr_html_()
    for words in ("parking@1", "haste", "-0.5", "≤ 3", "Speed &lt;costs&gt;.", "0 … 9", "m/s", "<math>"):
        assert words in text


def test_a_signal_and_why_show_each_term_from_score_to_value(tmp_path):
    signal = PARKING.score(speed=5.0)
    assert "haste 5 3 -0.5 -1.5" in strip(signal._repr_html_())
    with Ledger(tmp_path / "rewards.db") as ledger:
        number = ledger.record(signal, run="<b>", episode="1", step=0)
        why = ledger.why(number)._repr_html_()
    assert "run=&#x27;&lt;b&gt;&#x27;" in why
    assert "haste 5 3 -0.5 -1.5" in strip(why)


def test_history_and_episodes_show_the_first_and_count_all(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        for step in range(40):
            ledger.record(PARKING.score(speed=1.0), run="a", episode=str(step), step=step)
        history, episodes = ledger.history()._repr_html_(), ledger.episodes()._repr_html_()
        stats, none = ledger.stats()._repr_html_(), ledger.history(run="b")._repr_html_()
    assert "30 of 40 shown" in history
    assert "30 of 40 shown" in episodes
    assert history.count("<tr>") == episodes.count("<tr>") == 31
    assert "parking@1 40 -0.5" in strip(stats)
    assert "0 records" in none


def test_records_of_several_actors_and_without_a_score_are_told_apart(tmp_path):
    record_night(tmp_path / "night.db")
    with Ledger(tmp_path / "night.db", read_only=True) as ledger:
        history = strip(ledger.history(episode="2")._repr_html_())
        masked = next(each for each in ledger.history() if each.masked)
        why, text = strip(ledger.why(masked.id)._repr_html_()), str(ledger.why(masked.id))
    assert "record run actor episode step total" in history
    assert "5 night env0 2 1 0.7" in history
    assert "6 night env0 2 2 not scored" in history
    assert "night env1 2 1 1" in history
    for shown in (why, text):
        assert "not scored" in shown
        assert "field 'x': 7.0 is outside its declared range" in unescape(shown)
    assert not any("nan" in shown for shown in (history, why, text))


def test_a_report_shows_its_findings_with_their_witnesses():
    report = check(PARKING)
    text = strip(report._repr_html_())
    for finding in report:
        assert finding.code in text
    assert "behavior pays where" in text
