"""``treewise check``: mark answers to an exercise sheet, of one student or of a class."""

from __future__ import annotations

import click

from treewise.cli.output import check_output
from treewise.cli.render import present, result_options
from treewise.cli.verb import verb


@verb(
    "check",
    "SHEET ANSWERS… [options]",
    examples=(
        "treewise check sheet.json answers.txt",
        "treewise check sheet.html answers-*.json -o marks.csv",
    ),
    about="SHEET is a sheet with its key (.json or .html, by treewise exercise). ANSWERS are files that the form saved,"
    ' or lines such as "7 = 0.97", with a tree indented on the lines below its number. What follows correctly from an'
    " earlier wrong answer is right. One file is marked blank by blank; several give a line per student.",
)
@click.argument("sheet")
@click.argument("answers", nargs=-1, required=True, metavar="ANSWERS…")
@result_options
def command(sheet: str, answers: tuple[str, ...], form: str | None, output: str | None) -> None:
    """Mark the answers and print the marks."""
    from treewise.explain.exercise.marking import ClassMarks, check_answers_file

    check_output(output, sheet, *answers)
    marks = [check_answers_file(sheet, each) for each in answers]
    present(marks[0] if len(marks) == 1 else ClassMarks(tuple(marks)), form, output)
