"""Rows of text are the same however a file falls into blocks, and a line that is not a row costs no other."""

import io
import re

import pytest

from plaudit import FileError
from plaudit.rows import lines
from plaudit.rows.csv_files import CsvSource
from plaudit.rows.jsonl_files import JsonLinesSource
from plaudit.rows.streams import Source

BLOCKS = [5, 16, 61, 1 << 17]


def read(kind, path):
    """Return the line, the text and the columns of each row, and the lines that are none."""
    rows, refused = [], []
    with Source(str(path)) as source:
        file = kind(source)
        for chunk in file.chunks(()):
            columns = zip(*map(chunk.list_column, file.columns), strict=True) if file.columns else [()] * chunk.rows
            rows += zip(chunk.numbers, chunk.lines, columns, strict=True)
            refused += [
                (each.number, each.raw if isinstance(each.raw, bytes) else b"".join(each.raw)) for each in chunk.refused
            ]
    return rows, refused


@pytest.mark.parametrize("block", BLOCKS)
def test_a_quoted_cell_may_hold_line_breaks_wherever_a_block_ends(tmp_path, monkeypatch, block):
    monkeypatch.setattr(lines, "BLOCK", block)
    path = tmp_path / "rows.csv"
    path.write_bytes(b'id,note\r\n1,"a\nb ""c"""\r\n2,5" pipe\r\n\r\n3,"x,y"\n4\n5,z')
    rows, refused = read(CsvSource, path)
    assert [(number, cells) for number, _, cells in rows] == [
        (2, ("1", 'a\nb "c"')),
        (4, ("2", '5" pipe')),
        (6, ("3", "x,y")),
        (8, ("5", "z")),
    ]
    assert rows[0][1] == b'1,"a\nb ""c"""'
    assert refused == [(7, b"4")]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_quote_that_is_never_closed_costs_its_own_line_only(tmp_path, monkeypatch, block):
    monkeypatch.setattr(lines, "BLOCK", block)
    path = tmp_path / "rows.csv"
    path.write_bytes(b'id,note\n1,"a\n2,b\n3,c\n')
    rows, refused = read(CsvSource, path)
    assert [cells for _, _, cells in rows] == [("2", "b"), ("3", "c")]
    assert refused == [(2, b'1,"a')]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_line_that_is_too_long_for_memory_comes_in_pieces_and_costs_no_other(tmp_path, monkeypatch, block):
    monkeypatch.setattr(lines, "BLOCK", block)
    monkeypatch.setattr(lines, "LONGEST_LINE", 40)
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"x": 1}\n' + b"y" * 300 + b'\n{"x": 2}\n{"x": 3}')
    rows, refused = read(JsonLinesSource, path)
    assert [(number, cells) for number, _, cells in rows] == [(1, (1,)), (3, (2,)), (4, (3,))]
    assert refused == [(2, b"y" * 300)]
    path.write_bytes(b"y" * 300 + b'\n{"x": 2}\n')
    rows, refused = read(JsonLinesSource, path)
    assert [(number, line) for number, line, _ in rows] == [(2, b'{"x": 2}')]
    assert refused == [(1, b"y" * 300)]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"x": 1, "x": 2}', "'x' is given twice"),
        ('{"x": "a", "x": "b"}', "'x' is given twice"),
        ('{"x": 1, "y": {"z": 1, "z": 2}}', "'z' is given twice"),
        ('{"prev": {"x": 1}, "prev.x": 2}', "'prev.x' is given twice"),
        ('{"x[0]": 1, "x": [2]}', "'x' is given both as a list and entry by entry"),
    ],
)
def test_a_name_that_is_there_twice_is_found_among_lines_that_are_read_together(tmp_path, line, told):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(['{"x": 1}', line, '{"x": 3}']), encoding="utf-8")
    with Source(str(path)) as source:
        [*chunks] = JsonLinesSource(source).chunks(())
    assert [number for chunk in chunks for number in chunk.numbers] == [1, 3]
    [refused] = [each for chunk in chunks for each in chunk.refused]
    assert told in str(refused.error)


class Failing(io.BytesIO):
    """A file on a disk that fails after its first block."""

    def read(self, size=-1):
        if self.tell():
            raise OSError(5, "Input/output error")
        return super().read(size)


def test_a_disk_that_fails_while_rows_are_read_is_told_as_that(monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 8)
    blocks = lines.read_blocks(Failing(b"a\nb\nc\nd\ne\nf\n"), "rows.csv")
    assert next(blocks).lines == [b"a", b"b", b"c", b"d"]
    with pytest.raises(FileError, match=re.escape("rows.csv cannot be read: Input/output error")):
        next(blocks)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_lines_end_where_one_is_too_long(monkeypatch, block, end):
    monkeypatch.setattr(lines, "BLOCK", block)
    content = b"\xef\xbb\xbfone\n\ntwo\r\n" + b"y" * 100 + b"\nthree" + end
    read = list(lines.read_lines(io.BytesIO(content), "rows.jsonl", 100))
    assert read == [(1, b"one"), (2, b""), (3, b"two\r"), (4, b"y" * 100), (5, b"three")]
    assert list(lines.read_lines(io.BytesIO(content), "rows.jsonl", 99)) == [*read[:3], (4, None)]
