"""Collects the edits of one file, and checks that together they change only what they intend."""

from __future__ import annotations

import ast

from .edits import CannotEdit, Edits, TreeCopy
from .imports import after_imports
from .source_file import SourceFile, check_compiles, parsed


class Draft:
    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self._edits = Edits()
        self.text = source.text

    def add(self, edits: Edits) -> None:
        """Adds the edits of a change. Raises CannotEdit, without an effect, if they do not fit."""
        together = self._edits + edits
        text = self._written(together)
        self._edits, self.text = together, text

    def data(self) -> bytes:
        return self.source.encoded(self.text)

    def _written(self, edits: Edits) -> str:
        source = self.source
        # The lines after the imports come first: they stand above other lines at the same place.
        edits = after_imports(source, edits) + edits
        text = _apply(source.text, edits)
        try:
            source.encoded(text)
            expected = TreeCopy(source.tree)
            for change in edits.trees:
                change(expected)
            new = parsed(text)
            check_compiles(text)
            if ast.dump(new) != ast.dump(expected.tree):
                raise CannotEdit("the code around it cannot be rewritten safely")
        except (SyntaxError, ValueError, RecursionError) as error:
            raise CannotEdit("the code around it cannot be rewritten safely") from error
        return text


def _apply(text: str, edits: Edits) -> str:
    ordered = sorted(edits.texts, key=lambda edit: (edit.start, edit.rank))
    parts, end = [], 0
    for edit in ordered:
        if edit.start < end:
            raise CannotEdit("two changes edit the same code")
        parts += [text[end : edit.start], edit.text]
        end = edit.end
    return "".join([*parts, text[end:]])
