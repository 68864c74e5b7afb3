"""The editor of hierarchies, part of the second step: groups of values with a preview."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from htmltools import Tag, TagChild, tags
from shiny import reactive, render

from shoal.base.wording import plural
from shoal.errors import ShoalError
from shoal.web import fields, parts
from shoal.web.columns import described_column, rule_of
from shoal.web.outline import Outline, built, levels_file
from shoal.web.state import Desk, Problems, needed, put

RULES = {
    "intervals": "intervals of fixed widths",
    "prefixes": "first characters of a code",
    "none": "no groups",
}
"""The rules that make groups of all values at once."""
PREVIEWED = 200
"""Maximum number of values in the preview."""
_HINT = (
    "Tick values or groups, then group, move, merge, rename or split them. With a mouse, a value or group "
    "can also be dragged onto a group."
)


@dataclass(frozen=True)
class Editing:
    """A hierarchy that is being edited.

    Parameters
    ----------
    place, name
        The number and the name of its column.
    outline
        Its groups.
    counts
        How many records have each value.
    before
        The groups before each change, the latest last.
    """

    place: int
    name: str
    outline: Outline
    counts: Mapping[str, int]
    before: tuple[Outline, ...] = ()

    def changed(self, outline: Outline) -> Editing:
        """Return it with other groups."""
        return replace(self, outline=outline, before=(*self.before, self.outline))


def editor_part() -> Tag:
    """Return the place of the editor."""
    return tags.div(parts.output("editor_shown"), parts.problem("editor"))


def serve_editor(desk: Desk) -> None:
    """Make the editor of hierarchies work."""
    _serve_opening(desk)
    _serve_changes(desk)

    opened: reactive.Value[tuple[int, str] | None] = reactive.Value(None)

    @reactive.effect(priority=1)
    def _() -> None:
        editing = desk.editing()
        put(opened, None if editing is None else (editing.place, editing.name))

    @render.ui
    def editor_shown() -> TagChild:
        column = opened()  # a change of the groups draws only what depends on them, so that focus stays
        return None if column is None else _editor(column[1])

    @render.ui
    def tree_shown() -> TagChild:
        return _tree(needed(desk.editing()))

    @render.ui
    def targets_shown() -> TagChild:
        return _targets(needed(desk.editing()).outline)

    @render.ui
    def levels_shown() -> TagChild:
        return _preview(needed(desk.editing()))

    @reactive.effect
    @reactive.event(desk.input.edit_use)
    def _() -> None:
        use_hierarchy(desk, needed(desk.editing()))

    @reactive.effect
    @reactive.event(desk.input.edit_close)
    def _() -> None:
        desk.show(f"[data-edits='{needed(desk.editing()).place}']")
        desk.editing.set(None)
        desk.tell({})

    @render.download_button(filename=lambda: f"hierarchy-{needed(desk.editing()).name}.csv")
    def get_hierarchy() -> Iterable[str]:
        yield levels_file(needed(desk.editing()).outline.hierarchy(), header=False)


def _serve_opening(desk: Desk) -> None:
    """Open the editor when the button of a column is pressed."""

    @reactive.effect
    @reactive.event(desk.input.edit_open)
    def _() -> None:
        source, columns = needed(desk.source()), needed(desk.seen())["columns"]
        place = desk.input.edit_open()
        if not isinstance(place, int) or not 0 <= place < len(columns):
            return
        name = columns[place]["name"]
        try:
            column = described_column(place, name, desk.entry)
        except ShoalError as error:
            desk.tell({f"hierarchy_{place}": str(error)})
            return

        def done(found: dict[str, Any]) -> None:
            outline = Outline(found["root"], found["parents"], frozenset(found["values"]))
            desk.editing.set(Editing(place, name, outline, found["counts"]))
            desk.show("#editor h3")

        def failed(error: Mapping[str, Any]) -> Problems:
            return {f"hierarchy_{place}": error["message"]}

        desk.start("outline", source, done, failed, column=column)

    @reactive.effect
    @reactive.event(desk.source)
    def _() -> None:
        editing, seen = desk.editing(), desk.seen()
        names = [column["name"] for column in seen["columns"]] if seen else []
        if editing is not None and names[editing.place : editing.place + 1] != [editing.name]:
            desk.editing.set(None)  # it is of another table


def _serve_changes(desk: Desk) -> None:
    """Change groups when buttons are pressed, or something is dragged onto a group."""

    def change(made: Callable[[Outline, list[str]], Outline]) -> None:
        editing = needed(desk.editing())
        chosen = (
            [str(each) for each in desk.input.edit_chosen() or ()] if _is_set(desk, "edit_chosen") else []
        )
        try:
            desk.editing.set(editing.changed(made(editing.outline, chosen)))
            desk.tell({})
        except ShoalError as error:
            desk.tell({error.parameter or "edit_rule": str(error)})

    def name() -> str:
        return fields.text(desk.entry("edit_name"))

    @reactive.effect
    @reactive.event(desk.input.edit_group)
    def _() -> None:
        change(lambda outline, chosen: outline.grouped(chosen, name()))

    @reactive.effect
    @reactive.event(desk.input.edit_merge)
    def _() -> None:
        change(lambda outline, chosen: outline.merged(chosen, name()))

    @reactive.effect
    @reactive.event(desk.input.edit_rename)
    def _() -> None:
        change(lambda outline, chosen: outline.renamed(chosen, name()))

    @reactive.effect
    @reactive.event(desk.input.edit_split)
    def _() -> None:
        change(lambda outline, chosen: outline.dissolved(chosen))

    @reactive.effect
    @reactive.event(desk.input.edit_move)
    def _() -> None:
        change(lambda outline, chosen: outline.moved(chosen, fields.text(desk.entry("edit_target"))))

    @reactive.effect
    @reactive.event(desk.input.edit_drop)
    def _() -> None:
        dropped = desk.input.edit_drop()
        if isinstance(dropped, list | tuple) and len(dropped) == 2:
            change(lambda outline, _: outline.moved([str(dropped[0])], str(dropped[1])))

    @reactive.effect
    @reactive.event(desk.input.edit_build)
    def _() -> None:
        change(lambda outline, _: by_rule(outline, desk.entry("edit_rule"), desk.entry("edit_numbers")))

    @reactive.effect
    @reactive.event(desk.input.edit_undo)
    def _() -> None:
        editing = needed(desk.editing())
        if editing.before:
            desk.editing.set(replace(editing, outline=editing.before[-1], before=editing.before[:-1]))


def by_rule(outline: Outline, rule: object, numbers: object) -> Outline:
    """Return the values of an outline with the groups that a rule makes.

    Parameters
    ----------
    outline
        The values.
    rule
        One of `RULES`.
    numbers
        Widths of intervals or lengths of prefixes, as they are entered.
    """
    wanted = fields.chosen(rule, RULES)
    values = [value for value in outline.parents if value in outline.values]
    return Outline.flat(values) if wanted == "none" else built(rule_of(wanted, numbers), values)


def use_hierarchy(desk: Desk, editing: Editing) -> None:
    """Give the column the hierarchy that was edited, as a file."""
    path = desk.folder / f"{secrets.token_hex(8)}.csv"
    path.write_text(levels_file(editing.outline.hierarchy(), header=True), encoding="utf-8")
    field = f"levels_{editing.place}"
    desk.files.set({**desk.files(), field: (f"hierarchy of {editing.name}, edited here", path)})
    desk.memory.recall({f"hierarchy_{editing.place}": "file"})
    desk.editing.set(None)
    desk.redraw()
    desk.show(f"[data-edits='{editing.place}']")
    desk.say(f"{editing.name} now has this hierarchy. Press “Use these columns” to continue.")


def _is_set(desk: Desk, name: str) -> bool:
    return bool(desk.input[name].is_set())


def _editor(name: str) -> Tag:
    return tags.div(
        tags.h3(f"Hierarchy of {name}", tabindex="-1"),
        tags.p(_HINT),
        tags.details(
            tags.summary("Make groups by a rule"),
            tags.div(
                parts.choice("edit_rule", "Rule", RULES, "intervals", "Replaces all groups."),
                parts.text(
                    "edit_numbers",
                    "Widths or lengths",
                    "Interval widths such as 5, 10, or numbers of first characters such as 3, 2.",
                ),
                class_="fields",
            ),
            parts.button("edit_build", "Make groups by this rule"),
            class_="more",
        ),
        parts.output("tree_shown"),
        parts.problem("edit_chosen"),
        tags.div(
            tags.div(
                parts.text("edit_name", "Name of a group"),
                tags.div(
                    parts.button("edit_group", "Group what is ticked"),
                    parts.button("edit_rename", "Rename the ticked group"),
                    parts.button("edit_merge", "Merge the ticked groups"),
                    class_="actions",
                ),
            ),
            tags.div(
                parts.output("targets_shown"),
                tags.div(
                    parts.button("edit_move", "Move what is ticked there"),
                    parts.button("edit_split", "Split up the ticked groups"),
                    class_="actions",
                ),
            ),
            class_="fields halves",
        ),
        tags.details(
            tags.summary("Preview: what each value becomes"),
            parts.output("levels_shown"),
            class_="more",
            open="",
        ),
        tags.div(
            parts.button("edit_use", "Use this hierarchy", main=True),
            parts.button("edit_undo", "Undo"),
            parts.button("edit_close", "Close without using it"),
            class_="actions",
        ),
        tags.ul(
            parts.download("get_hierarchy", f"hierarchy-{name}.csv", "for ARX and the command line"),
            class_="downloads",
        ),
        id="editor",
        class_="finding",
    )


def _targets(outline: Outline) -> Tag:
    options = {outline.root: f"{outline.root} (no group)", **{group: group for group in outline.groups}}
    return parts.choice("edit_target", "Move to", options, outline.root)


def _tree(editing: Editing) -> Tag:
    """Return the values and groups with a box for each."""
    outline, below = editing.outline, editing.outline.below()
    sizes = _sizes(editing)

    def branch(labels: Sequence[str]) -> Tag:
        return tags.ul([item(label) for label in labels])

    def item(label: str) -> Tag:
        is_group = label not in outline.values
        return tags.li(
            tags.label(
                tags.input(type="checkbox", name="edit_chosen", value=label),
                tags.span(label, class_="group" if is_group else None),
                tags.small(plural(sizes[label], "record")),
                class_="tick",
            ),
            branch(below[label]) if is_group else None,
            draggable="true",
            data_label=label,
            data_group="" if is_group else None,
        )

    return tags.fieldset(
        tags.legend(f"Values and groups of {editing.name}", class_="unseen"),
        tags.div(f"{outline.root} (everything)", class_="root", data_label=outline.root, data_group=""),
        branch(below[outline.root]),
        id="edit_chosen",
        class_="tree shiny-input-checkboxgroup",
    )


def _sizes(editing: Editing) -> dict[str, int]:
    """Return how many records each value and group has."""
    sizes = dict.fromkeys(editing.outline.parents, 0)
    for value in editing.outline.values:
        for label in editing.outline.path(value)[:-1]:
            sizes[label] += editing.counts.get(value, 0)
    return sizes


def _preview(editing: Editing) -> Tag:
    """Return how each value is written on each level."""
    rows = editing.outline.hierarchy().levels()
    more = f", the first {PREVIEWED} of {len(rows):,}" if len(rows) > PREVIEWED else ""
    head: list[TagChild] = ["value", *(f"level {depth}" for depth in range(1, len(rows[0])))]
    return parts.table(f"Levels of {editing.name}{more}", head, rows[:PREVIEWED])
