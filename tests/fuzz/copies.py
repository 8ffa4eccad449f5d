"""Random copies of whole containers, over a random state: assigned, reset, appended, put, and given to fields of records."""

from __future__ import annotations

import random

from tests.fuzz.expressions import Place
from tests.fuzz.kinds import Kind, Line, Maybe, Number, Pile, Scope, Struct, Table, holds_machine
from tests.fuzz.statements import Writer


class Copier(Writer):
    """Writes copies, too."""

    copies: random.Random | None = None
    """What chooses them, so that all else in a spec does not depend on them."""

    def statements(self, scope: Scope, depth: int, count: int) -> list[str]:
        """Return some statements of an effect."""
        lines = super().statements(scope, depth, count)
        if self.copies is None or not scope.moves or scope.frozen or self.copies.random() > 0.15:
            return lines
        chance, self.chance = self.chance, self.copies
        try:
            return [*lines, *self.copy(scope)]
        finally:
            self.chance = chance

    def copy(self, scope: Scope) -> list[str]:
        """Return a statement that copies a container, or nothing."""
        place = self.place(scope.own(), lambda kind: not isinstance(kind, Number | Struct) and not holds_machine(kind))
        if place is None:
            return []
        path, kind, needs = place
        scope.inside.clear()
        if self.often(0.15):
            return self.guarded(needs, [f"reset({path})"])
        if isinstance(kind, Line | Pile | Maybe | Table) and not isinstance(kind.item, Number) and self.often(0.6):
            return self.copy_into(scope, path, kind, needs)
        source = self.like(scope, kind)
        if source is None:
            return []
        lines = [f"assign({path}, {source[0]})"]
        if self.often(0.2):
            lines = [f"if {path} {self.pick('==', '!=')} {source[0]}:", f"    {lines[0]}"]
        return self.guarded([*needs, *source[2]], lines)

    def copy_into(self, scope: Scope, path: str, kind: Line | Pile | Maybe | Table, needs: list[str]) -> list[str]:
        """Return a statement that puts a copy into a container: as an item, or as fields of a record that is one."""
        given, needs = [path], list(needs)
        if isinstance(kind, Table):
            given.append(self.key(scope, kind, surely=True))
        if isinstance(kind.item, Struct):
            tag = self.pick(*kind.item.tagged).split() if kind.item.tagged else []
            given += [f"tag={tag[0]}"] if tag else []
            for name, field in kind.item.fields.items():
                if isinstance(field, Number) or holds_machine(field) or (tag and name not in tag):
                    continue
                if (source := self.like(scope, field)) is not None:
                    given.append(f"{name}={source[0]}")
                    needs += source[2]
        elif (source := self.like(scope, kind.item)) is not None:
            given.append(source[0])
            needs += source[2]
        if isinstance(kind, Line | Pile):
            needs.append(f"len({path}) < {1 if isinstance(kind, Line) and kind.distinct else kind.capacity.code}")
        how = "append" if isinstance(kind, Line) else "add" if isinstance(kind, Pile) else "put"
        return self.guarded(needs, [f"{how}({', '.join(given)})"])

    def like(self, scope: Scope, kind: Kind) -> Place | None:
        """Return a place that holds such values, or nothing."""
        return self.place(scope, lambda other: not isinstance(other, Number) and other.domain == kind.domain)
