"""The consistency graph of records and the rows that cover them, and which pairs are matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.base.ragged import Subsets
from shoal.base.tally import Often, merged, tally
from shoal.kinds.generalized import Generalized
from shoal.recoding import Recoding


@dataclass(frozen=True, eq=False, kw_only=True)
class MatchCounts:
    """How many matches records and rows have.

    Parameters
    ----------
    matches_of_record, matches_of_row
        How many matches each has.
    unmatched_records, unmatched_rows
        How many are left without a row or a record when as many as possible have one.
    components
        How many components there are; None if that is not known.
    records_often, rows_often
        How many records and rows have each of these numbers, if they are counted by number.
    """

    matches_of_record: NDArray[np.int64]
    matches_of_row: NDArray[np.int64]
    unmatched_records: int
    unmatched_rows: int
    components: int | None
    records_often: Often = None
    rows_often: Often = None

    @staticmethod
    def merge(parts: Sequence[MatchCounts]) -> MatchCounts:
        """Return the matches within each of several releases, counted by number."""
        rows, records_often = merged((part.matches_of_record, part.records_often) for part in parts)
        records, rows_often = merged((part.matches_of_row, part.rows_often) for part in parts)
        return MatchCounts(
            matches_of_record=rows,
            matches_of_row=records,
            unmatched_records=sum(part.unmatched_records for part in parts),
            unmatched_rows=sum(part.unmatched_rows for part in parts),
            components=None,
            records_often=records_often,
            rows_often=rows_often,
        )

    @property
    def perfect(self) -> bool:
        """Whether each record can have a row of its own, and each row a record."""
        return self.unmatched_records == 0 and self.unmatched_rows == 0

    @property
    def concealment(self) -> int:
        """The minimum number of matches of any record that has some; 0 if none has."""
        some = self.matches_of_record[self.matches_of_record > 0]
        return int(some.min()) if len(some) else 0

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data; the worst are the records with the fewest matches."""
        counts, records = tally(self.matches_of_record, self.records_often)
        total = int(records.sum())
        return {
            "perfect": self.perfect,
            "unmatched_records": self.unmatched_records,
            "unmatched_rows": self.unmatched_rows,
            "concealment": self.concealment,
            "matches_per_row": int(self.matches_of_row.min(initial=total)),
            **({} if self.components is None else {"components": self.components}),
            "worst": [
                {"matches": int(m), "records": int(r)} for m, r in zip(counts[:5], records[:5], strict=True)
            ],
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Matches(MatchCounts):
    """The matches of each record, for an attacker who knows every record (Tassa et al. 2012, Definition 6).

    A row is a match of a record if some perfect matching of records and covering rows pairs the two; where
    there is no perfect one, if some maximum matching does.

    Parameters
    ----------
    graph
        The coverage graph.
    pairs
        A maximum matching of its types.
    component_of_record, component_of_row
        Components 0, 1, 2, ... A row is a match of a record if and only if it covers it and both are in the
        same one. No row of a component covers a record of a component with a higher number.
    """

    graph: Graph
    pairs: kernels.Matched
    component_of_record: NDArray[np.int32]
    component_of_row: NDArray[np.int32]
    components: int

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            "matches are not pickled, nor is an audit that has them, as they refer to the original records; "
            "pickle release.table and release.certificate, or what Audit.as_dict returns"
        )

    @cached_property
    def matched(self) -> NDArray[np.int64]:
        """A maximum matching: the row of each record, or -1."""
        return self.graph.rows_of_records(self.pairs)

    @property
    def records_of_component(self) -> NDArray[np.int64]:
        """How many records each component has; as many as rows, if the matching is perfect."""
        return np.bincount(self.component_of_record, minlength=self.components)

    @property
    def rows_of_component(self) -> NDArray[np.int64]:
        """How many rows each component has."""
        return np.bincount(self.component_of_row, minlength=self.components)

    @property
    def complete_components(self) -> NDArray[np.bool_]:
        """In which components every row covers every record, and no record is left over."""
        records, rows = self.records_of_component, self.rows_of_component
        fewest = np.full(self.components, np.iinfo(np.int64).max)
        np.minimum.at(fewest, self.component_of_record, self.matches_of_record)
        complete: NDArray[np.bool_] = (records == rows) & (fewest == rows)
        return complete


class PersonCounts(NamedTuple):
    """Persons of rows and rows of persons.

    Parameters
    ----------
    persons_of_row
        The records of how many persons each row covers.
    rows_of_person
        How many rows cover any record of each person.
    matched_persons_of_row, matching_rows_of_person
        The same for matches alone.
    own_rows
        For each record, how many of the rows that cover it carry records of its person; None without the key.
    """

    persons_of_row: NDArray[np.int64]
    rows_of_person: NDArray[np.int64]
    matched_persons_of_row: NDArray[np.int64]
    matching_rows_of_person: NDArray[np.int64]
    own_rows: NDArray[np.int64] | None


@dataclass(frozen=True, eq=False)
class Graph:
    """The coverage graph of a table and a release: an edge wherever a row covers a record.

    Equal records have the same neighbours, and so have equal rows: the graph knows only their types.

    Parameters
    ----------
    records
        The codes of each type of record.
    record_type
        The type of each record.
    boxes
        For each type of row and attribute, the number of a generalized value.
    row_type
        The type of each row.
    attributes
        The generalized values of each attribute.
    """

    records: NDArray[np.int32]
    record_type: NDArray[np.int32]
    boxes: NDArray[np.int32]
    row_type: NDArray[np.int32]
    attributes: tuple[kernels.CodeIntervals | Subsets, ...]

    @classmethod
    def of(cls, codes: NDArray[np.int32], cells: NDArray[np.int32], values: Sequence[Generalized]) -> Self:
        """Return the graph of a table and a release.

        Parameters
        ----------
        codes
            The records: one row for each, one column for each attribute.
        cells
            The release: for each row and attribute, the number of a generalized value.
        values
            The generalized values of each attribute.
        """
        record_type, first_record = kernels.group_rows(codes)
        row_type, first_row = kernels.group_rows(cells)
        attributes = tuple(v.for_kernel() for v in values)
        return cls(codes[first_record], record_type, cells[first_row], row_type, attributes)

    @classmethod
    def of_recoding(cls, recoding: Recoding) -> Self:
        """Return the graph of a table and the rows of a recoding of it."""
        cells = np.column_stack([recoding.box] * len(recoding.values))
        return cls.of(recoding.table.codes, cells, recoding.values)

    def degrees(self, unknown: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many rows cover each record, and how many records each row covers.

        Parameters
        ----------
        unknown
            An attribute that is not compared.
        """
        rows, records = self._kernel.count(unknown)
        return rows[self.record_type], records[self.row_type]

    def count_labels(
        self, labels: NDArray[np.int32], size: int, matches: Matches | None = None
    ) -> kernels.LabelCounts:
        """Count the labels of the rows around each type of record.

        Parameters
        ----------
        labels
            The label of each row.
        size
            How many labels there are.
        matches
            The matches of this graph, if only those count, and not all covering rows.
        """
        records, boxes, attributes = self.records, self.boxes, self.attributes
        if matches is not None:
            of_record, of_box = self._components_of_types(matches)
            records, boxes, attributes = self._apart(of_record, of_box)
        row_type, first_row = kernels.group_rows(np.column_stack((self.row_type, labels)))
        return kernels.count_labels(
            records,
            boxes[self.row_type[first_row]],
            np.bincount(row_type),
            attributes,
            labels[first_row],
            size,
        )

    def count_persons(
        self,
        owners: NDArray[np.int32],
        matches: Matches | None = None,
        key: NDArray[np.integer[Any]] | None = None,
    ) -> PersonCounts:
        """Count the persons of each row and the rows of each person.

        Parameters
        ----------
        owners
            The person of each record, numbered from 0.
        matches
            The matches of this graph; None if all covering rows are matches, or they are not asked for.
        key
            For each row, the record it was made from, if that is known.
        """
        size = int(owners.max()) + 1
        numbers = self.record_type.astype(np.int64) * size + owners  # as one number: far faster
        order = np.argsort(numbers)
        new = np.diff(numbers[order], prepend=-1) > 0
        pairs = numbers[order[new]]
        whose = (pairs % size).astype(np.int32)
        persons, rows, matched, matching, own = self._kernel.count_persons(
            (_starts(pairs // size, len(self.records)), whose),
            size,
            None if matches is None else self._components_of_types(matches),
            None if key is None else self._carried(owners[key]),
        )
        own_rows = None
        if key is not None:
            own_rows = np.empty(len(owners), dtype=np.int64)
            own_rows[order] = own[np.cumsum(new) - 1]
        return PersonCounts(persons[self.row_type], rows, matched[self.row_type], matching, own_rows)

    def _carried(self, whose: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return where the rows of each type start, and the person that each of them carries."""
        order = np.argsort(self.row_type)
        return _starts(self.row_type[order], len(self.boxes)), whose[order]

    def crowds(self, types: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the types of rows that cover each of some types of records.

        Parameters
        ----------
        types
            The types of record.

        Returns
        -------
        tuple
            Those of the i-th type are ``rows[starts[i]:starts[i + 1]]``, in no order: `starts` and `rows`.
        """
        return self._kernel.boxes_around(types.astype(np.int32))

    def matches(self, key: NDArray[np.integer[Any]] | None = None) -> Matches:
        """Find all matches, without listing the edges.

        A maximum matching, and then the strongly connected components that it leads to (Algorithm 4). Takes
        about as many searches for a neighbour as there are types, for each round of augmenting paths; how
        much a search costs depends on how the boxes overlap. Memory in proportion to the types.

        Parameters
        ----------
        key
            For each row, the record it was made from, if that is known: then nothing has to be matched but
            the rows that do not cover their record.
        """
        maximum = self._kernel.maximum_matching(None if key is None else self._pairs(key))
        of_record, of_box = self._kernel.components(maximum)
        rows, records = self._count_within(of_record, of_box)
        left = len(self.record_type) - int(maximum.copies.sum())
        return Matches(
            graph=self,
            pairs=maximum,
            component_of_record=of_record[self.record_type],
            component_of_row=of_box[self.row_type],
            components=1 + max(int(of_record.max(initial=-1)), int(of_box.max(initial=-1))),
            matches_of_record=rows[self.record_type],
            matches_of_row=records[self.row_type],
            unmatched_records=left,
            unmatched_rows=len(self.row_type) - len(self.record_type) + left,
        )

    def within(self, matches: Matches, components: NDArray[np.bool_]) -> Within:
        """Return the graph within some components: its edges are the matches there.

        Parameters
        ----------
        matches
            The matches of this graph.
        components
            Which components are wanted.
        """
        of_record, of_box = self._components_of_types(matches)
        records, boxes = np.flatnonzero(components[of_record]), np.flatnonzero(components[of_box])
        order, starts, begins, ends = self._kernel_within(of_record, of_box, records, boxes).stretches()
        places = records[order]
        return Within(
            places,
            boxes,
            of_record[places],
            of_box[boxes],
            kernels.Neighbourhoods(
                np.bincount(self.record_type, minlength=1)[places],
                np.bincount(self.row_type, minlength=1)[boxes],
                starts,
                begins,
                ends,
            ),
        )

    @cached_property
    def _kernel(self) -> kernels.ConsistencyGraph:
        return kernels.ConsistencyGraph(
            self.records,
            np.bincount(self.record_type),
            self.boxes,
            np.bincount(self.row_type),
            self.attributes,
        )

    def _pairs(self, key: NDArray[np.integer[Any]]) -> kernels.Matched:
        types = np.column_stack((self.record_type[key], self.row_type))
        pair, first = kernels.group_rows(types)
        records, boxes = np.ascontiguousarray(types[first].T)
        return kernels.Matched(records, boxes, np.bincount(pair))

    def rows_of_records(self, maximum: kernels.Matched) -> NDArray[np.int64]:
        """Return the row of each record, or -1, in a matching: those of a type are interchangeable."""
        matched = np.full(len(self.record_type), -1, dtype=np.int64)
        records = _members(self.record_type, np.repeat(maximum.records, maximum.copies))
        matched[records] = _members(self.row_type, np.repeat(maximum.boxes, maximum.copies))
        return matched

    def _count_within(
        self, of_record: NDArray[np.int32], of_box: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the degrees of all types in the graph without its edges between components."""
        if max(of_record.max(initial=0), of_box.max(initial=0)) == 0:
            return self._kernel.count()
        everything = np.arange(len(of_record)), np.arange(len(of_box))
        return self._kernel_within(of_record, of_box, *everything).count()

    def _kernel_within(
        self,
        of_record: NDArray[np.int32],
        of_box: NDArray[np.int32],
        records: NDArray[np.int64],
        boxes: NDArray[np.int64],
    ) -> kernels.ConsistencyGraph:
        """Return the graph of some types of records and rows without its edges between components."""
        codes, values, attributes = self._apart(of_record, of_box)
        return kernels.ConsistencyGraph(
            codes[records],
            np.bincount(self.record_type, minlength=1)[records],
            values[boxes],
            np.bincount(self.row_type, minlength=1)[boxes],
            attributes,
        )

    def _components_of_types(self, matches: Matches) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the component of each type of record and row."""
        of_record = np.empty(len(self.records), dtype=np.int32)
        of_record[self.record_type] = matches.component_of_record
        of_box = np.empty(len(self.boxes), dtype=np.int32)
        of_box[self.row_type] = matches.component_of_row
        return of_record, of_box

    def _apart(
        self, of_record: NDArray[np.int32], of_box: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], tuple[kernels.CodeIntervals | Subsets, ...]]:
        """Return records, boxes and attributes such that nothing lies in a box of another component."""
        number = np.arange(1 + max(of_record.max(initial=0), of_box.max(initial=0)), dtype=np.int32)
        # A component is one more attribute, in which every box is a single code.
        return (
            np.column_stack((self.records, of_record)),
            np.column_stack((self.boxes, of_box)),
            (*self.attributes, kernels.CodeIntervals(len(number), number, number)),
        )


@dataclass(frozen=True, eq=False)
class Within:
    """The part of a coverage graph that lies within some components.

    Parameters
    ----------
    records, boxes
        The types of records and rows that are in it, in the order of `neighbourhoods`.
    component_of_record, component_of_box
        The component of each.
    neighbourhoods
        The records in each box, by their places.
    """

    records: NDArray[np.int64]
    boxes: NDArray[np.int64]
    component_of_record: NDArray[np.int32]
    component_of_box: NDArray[np.int32]
    neighbourhoods: kernels.Neighbourhoods

    def parts(self, components: NDArray[np.int64]) -> kernels.Parts:
        """Return the boxes of some components, given in ascending order."""
        order = np.argsort(self.component_of_box, kind="stable")
        sorted_components = self.component_of_box[order]
        begins = np.searchsorted(sorted_components, components)
        sizes = np.searchsorted(sorted_components, components, side="right") - begins
        starts = np.concatenate(([0], np.cumsum(sizes)))
        boxes = order[np.repeat(begins - starts[:-1], sizes) + np.arange(starts[-1])]
        return kernels.Parts(starts.astype(np.int64), boxes.astype(np.int32))


def _starts(ascending: NDArray[np.integer[Any]], size: int) -> NDArray[np.int64]:
    """Return where each of the numbers below a size starts in an ascending list, and how long it is."""
    return np.concatenate(([0], np.cumsum(np.bincount(ascending, minlength=size))))


def _members(type_of: NDArray[np.int32], types: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return for each of some types one of its members, another each time."""
    by_type = np.argsort(type_of, kind="stable")
    sizes = np.bincount(type_of)
    order = np.argsort(types, kind="stable")
    asked = types[order]
    turn = np.arange(len(asked)) - np.searchsorted(asked, asked)
    members = np.empty(len(types), dtype=np.int64)
    members[order] = by_type[(np.cumsum(sizes) - sizes)[asked] + turn]
    return members
