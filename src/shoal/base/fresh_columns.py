"""Columns of a release, built from the released values alone: no dictionary, buffer or metadata of the input.

A column of a frame holds more than its values: a dictionary with the values of other records, in the order of
the input; text of other records in a buffer that it shares; values under a null; metadata. Here, values are
taken out and put into new columns. A dictionary lists the values that occur, ascending, whatever order the
input declared; a dictionary inside lists or structs becomes plain values, and so does an extension type.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, Reason

LONG = 10_000
"""Columns of text with at least as many rows may have each different text copied once."""
OFTEN = 4
"""The least number of rows for each different text of such a column, on average."""


def readable(data: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Return a frame that can be worked on: PyArrow can neither pick nor filter views of text, nor runs."""
    if not data.implementation.is_pyarrow():
        return data
    import pyarrow as pa  # the frame is PyArrow's, so it is there
    import pyarrow.compute as pc

    native = data.to_native()
    for place, field in enumerate(native.schema):
        column, wanted = native.column(place), _without_views(field.type)
        if pa.types.is_run_end_encoded(field.type):
            column = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks])
        elif wanted is not field.type:
            column = column.cast(wanted)
        else:
            continue
        native = native.set_column(place, field.name, column)
    return nw.from_native(native, eager_only=True)


def gathered(column: nw.Series[Any], order: NDArray[np.int64]) -> Any:
    """Return some values of a column as a new native column of the same flavour.

    Parameters
    ----------
    column
        The column.
    order
        The positions of the values.

    Raises
    ------
    InputError
        If the column has a type that cannot be taken apart.
    """
    native = column.to_native()
    if column.implementation.is_polars():
        return rebuilt(native.gather(order))
    if column.implementation.is_pyarrow():
        return _checked(column.name, native.take(order).combine_chunks())
    if column.implementation.is_pandas():
        return _of_pandas(column.name, native.array.take(order))
    cells = column.to_list()
    return [cells[place] for place in order]


def in_flavour(
    column: pl.Series, like: nw.DataFrame[Any], order: NDArray[np.integer[Any]] | None = None
) -> Any:
    """Return values of a Polars column as a new native column of the flavour of a frame, and nothing else.

    Parameters
    ----------
    column
        The column.
    like
        The frame.
    order
        The positions of the values; all of them, as they are, if omitted.
    """
    if like.implementation.is_polars():
        if order is None:
            return rebuilt(column)
        # Each value that occurs is built once; the others are left behind, so that no buffer has them.
        occurs = np.zeros(len(column), dtype=np.bool_)
        occurs[order] = True
        return rebuilt(column.filter(pl.Series(occurs))).gather((np.cumsum(occurs) - 1)[order])
    if order is not None:
        column = column.gather(order)
    if like.implementation.is_pyarrow():
        return _of_arrow(column.to_arrow())
    return column.to_list()


def frame_of(columns: dict[str, Any], like: nw.DataFrame[Any]) -> Any:
    """Return native columns, by name, as a native frame of the flavour of another frame."""
    if like.implementation.is_polars():
        return pl.DataFrame([column.rename(name) for name, column in columns.items()])
    if like.implementation.is_pyarrow():
        import pyarrow as pa  # the caller's frame is PyArrow's, so it is there

        return pa.table(columns)
    if like.implementation.is_pandas():
        import pandas as pd

        return pd.DataFrame(columns)
    return nw.from_dict(columns, backend=like.implementation).to_native()


def orders_of_categories(frame: nw.DataFrame[Any], names: Iterable[str]) -> list[str]:
    """Return which columns of a frame have a declared order of categories, which a release does not show."""
    return [name for name in names if _is_ordered(frame[name])]


def declared_order(column: nw.Series[Any]) -> list[Any] | None:
    """Return the categories of a column in the order that its type declares, lowest first; None without one.

    Only texts, whole numbers and the intervals of ``pandas.cut`` count, which are written as texts.
    """
    if not _is_ordered(column):
        return None
    native = column.to_native()
    by_arrow = column.implementation.is_pyarrow()
    if not by_arrow and hasattr(native.dtype, "pyarrow_dtype"):  # a column of pandas that Arrow holds
        native, by_arrow = native.array.__arrow_array__(), True
    if column.implementation.is_polars():
        order = native.dtype.categories.to_list()
    elif by_arrow:
        chunks = native.unify_dictionaries().chunks if hasattr(native, "chunks") else [native]
        order = chunks[0].dictionary.to_pylist() if chunks else []
    else:
        order = native.dtype.categories.tolist()
        if hasattr(native.dtype.categories, "closed"):
            order = [str(interval) for interval in order]
    whole = all(isinstance(each, int) and not isinstance(each, bool) for each in order)
    return order if whole or all(isinstance(each, str) for each in order) else None


def rebuilt(column: pl.Series) -> pl.Series:
    """Return a Polars column with the same values and nothing else; categories as an `Enum` of those."""
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        texts = column.cast(pl.String)
        return texts.cast(pl.Enum(texts.drop_nulls().unique().sort().to_list()))
    return _of_polars(column)


def plain_type(dtype: pl.DataType) -> pl.DataType:
    """Return the type that values of a Polars type have without dictionaries, at any depth."""
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return pl.String()
    if isinstance(dtype, pl.List):
        return pl.List(plain_type(_instance(dtype.inner)))
    if isinstance(dtype, pl.Array):
        return pl.Array(plain_type(_instance(dtype.inner)), dtype.size)
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: plain_type(_instance(field.dtype)) for field in dtype.fields})
    extension: Any = dtype
    return plain_type(extension.ext_storage()) if _is_extension(dtype) else dtype


def _instance(dtype: Any) -> pl.DataType:
    instance: pl.DataType = dtype() if isinstance(dtype, type) else dtype
    return instance


def _is_extension(dtype: Any) -> bool:
    base = getattr(pl, "BaseExtension", None)  # as of Polars 1.37
    return base is not None and isinstance(dtype, base)


def _is_ordered(column: nw.Series[Any]) -> bool:
    native = column.to_native()
    if column.implementation.is_polars():
        return isinstance(native.dtype, pl.Enum)
    kind = native.type if column.implementation.is_pyarrow() else native.dtype
    return bool(getattr(getattr(kind, "pyarrow_dtype", kind), "ordered", False))


def _of_polars(column: pl.Series) -> pl.Series:
    """Return a column with the same values, of a plain type; there is nothing under its nulls."""
    present = column.is_not_null()
    values = _present_values(column.filter(present)).rename(column.name)
    if len(values) == len(column):
        return values
    if not len(values):
        return values.clear(len(column))
    places = pl.select(pl.when(present).then(present.cum_sum().cast(pl.Int64) - 1)).to_series()
    return values.gather(places)


def _present_values(column: pl.Series) -> pl.Series:
    """Return values without nulls anew."""
    dtype = column.dtype
    if isinstance(dtype, pl.Categorical | pl.Enum):
        column, dtype = column.cast(pl.String), pl.String()
    if _is_extension(dtype):
        return _present_values(column.ext.storage())
    if dtype in (pl.String, pl.Binary, pl.Object):
        return _texts(column, dtype)
    if isinstance(dtype, pl.Struct):
        fields = [_of_polars(field) for field in column.struct.unnest().get_columns()]
        return pl.DataFrame(fields).to_struct() if fields else column
    if isinstance(dtype, pl.Array):
        return _present_values(column.arr.to_list()).list.to_array(dtype.size)
    if isinstance(dtype, pl.List):
        return _lists(column)
    return column


def _texts(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return texts, none of them null, anew: views share a buffer with all the text that was read with them.

    Of a long column with few different texts, each is copied once, and the rows refer to the copies.
    """
    if dtype == pl.String and len(column) >= LONG:
        different = column.unique()
        if len(different) * OFTEN <= len(column):
            different = different.sort()
            copies = pl.Series(different.to_list(), dtype=dtype)
            return column.replace_strict(different, copies, return_dtype=dtype)
    return pl.Series(column.to_list(), dtype=dtype)


def _lists(column: pl.Series) -> pl.Series:
    """Return lists, none of them null, with their members built anew."""
    lengths = column.list.len()
    members = _of_polars(column.filter(lengths > 0).explode().rename("members"))
    owners = pl.Series("owners", np.repeat(np.arange(len(column)), lengths.to_numpy()))
    grouped = pl.DataFrame([owners, members]).group_by("owners", maintain_order=True).agg("members")
    lists = grouped["members"].extend(pl.Series([[]], dtype=pl.List(members.dtype)))
    full = lengths > 0
    places = pl.select(pl.when(full).then(full.cum_sum().cast(pl.Int64) - 1).otherwise(len(lists) - 1))
    return lists.gather(places.to_series())


def _of_pandas(name: str, values: Any) -> Any:
    """Return an array of pandas anew; it is a copy already, but may hold more than its values."""
    import pandas as pd  # the caller's frame is pandas', so it is there

    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        used = values.remove_unused_categories().categories
        return values.set_categories(pd.Index(_ascending(used), dtype=used.dtype), ordered=False)
    if isinstance(dtype, pd.ArrowDtype):
        import pyarrow as pa

        return pd.arrays.ArrowExtensionArray(pa.chunked_array([_checked(name, _array_of(values))]))
    if isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow":
        return pd.array(_of_arrow(_array_of(values)), dtype=dtype)
    if isinstance(dtype, pd.SparseDtype):
        return np.asarray(values)
    if isinstance(values, pd.arrays.IntegerArray | pd.arrays.FloatingArray | pd.arrays.BooleanArray):
        return type(values)(values.to_numpy(dtype.numpy_dtype, na_value=0), values.isna())
    return values


def _array_of(values: Any) -> Any:
    """Return an array of pandas that PyArrow is behind as one of PyArrow's."""
    import pyarrow as pa

    array = pa.array(values)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _ascending(values: Iterable[Any]) -> list[Any]:
    """Return values in ascending order, those of types that do not compare by type and text."""
    listed = list(values)
    try:
        return sorted(listed)
    except TypeError:
        return sorted(listed, key=lambda value: (type(value).__name__, str(value)))


def _checked(name: str, array: Any) -> Any:
    import pyarrow as pa

    try:
        return _of_arrow(array)
    except pa.ArrowNotImplementedError as error:
        raise InputError(
            f"column {name!r} is of a type ({array.type}) that a release cannot carry; leave it out, or make "
            f"text of it ({error})",
            reason=Reason.SCHEMA,
            column=name,
        ) from None


def _of_arrow(array: Any) -> Any:
    """Return a PyArrow array with the same values and nothing else; a dictionary of those that occur."""
    import pyarrow as pa

    plain = _plain_arrow(array)
    if not pa.types.is_dictionary(array.type):
        return plain
    import pyarrow.compute as pc

    try:
        distinct = plain.drop_null().unique()
        distinct = distinct.take(pc.sort_indices(distinct))
        return pa.DictionaryArray.from_arrays(pc.index_in(plain, value_set=distinct), distinct)
    except pa.ArrowNotImplementedError:
        return plain  # values that cannot be compared


def _plain_arrow(array: Any) -> Any:
    """Return an array with the same values, without dictionaries; there is nothing under its nulls."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, types = array.type, pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_arrow(array.storage)
    if types.is_dictionary(kind):
        return _plain_arrow(array.dictionary_decode())
    if types.is_run_end_encoded(kind):
        return _plain_arrow(pc.run_end_decode(array))
    if types.is_string_view(kind) or types.is_binary_view(kind):
        array = array.cast(pa.large_string() if types.is_string_view(kind) else pa.large_binary())
    if types.is_union(kind):
        raise pa.ArrowNotImplementedError("a union")
    nulls = array.is_null()
    if types.is_struct(kind):
        fields = [_plain_arrow(field) for field in array.flatten()]  # null where the struct is
        names = [field.name for field in kind]
        return pa.StructArray.from_arrays(fields, names, mask=nulls) if fields else array
    # Picked by position: what is behind a null, or beside the array in its buffers, stays behind.
    places = pa.array(np.arange(len(array)), mask=nulls.to_numpy(zero_copy_only=False))
    array = array.take(places)
    if types.is_fixed_size_list(kind):
        return _fixed_lists(array, kind.list_size, nulls)
    if types.is_map(kind):
        return pa.MapArray.from_arrays(
            _offsets(array, pa.int32()), _plain_arrow(array.keys), _plain_arrow(array.items)
        )
    if types.is_list(kind) or types.is_list_view(kind):
        return pa.ListArray.from_arrays(_offsets(array, pa.int32()), _plain_arrow(array.flatten()))
    if types.is_large_list(kind) or types.is_large_list_view(kind):
        return pa.LargeListArray.from_arrays(_offsets(array, pa.int64()), _plain_arrow(array.flatten()))
    return array


def _offsets(array: Any, kind: Any) -> Any:
    """Return where each list begins and the last one ends, null where a list is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    nulls = array.is_null().to_numpy(zero_copy_only=False)
    is_map = pa.types.is_map(array.type)
    lengths = np.diff(array.offsets) if is_map else pc.fill_null(pc.list_value_length(array), 0).to_numpy()
    ends = np.concatenate(([0], np.cumsum(lengths)))
    return pa.array(ends, kind, mask=np.append(nulls, False)) if nulls.any() else pa.array(ends, kind)


def _fixed_lists(array: Any, size: int, nulls: Any) -> Any:
    import pyarrow as pa

    present = np.repeat(~nulls.to_numpy(zero_copy_only=False), size)
    places = pa.array(np.cumsum(present) - 1, mask=~present)
    members = _plain_arrow(array.flatten()).take(places)
    return pa.FixedSizeListArray.from_arrays(members, size, mask=nulls)


def _without_views(kind: Any) -> Any:
    """Return a type of PyArrow with plain text in place of views of it; the same one if it has none."""
    import pyarrow as pa

    types = pa.types
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if types.is_list(kind) or types.is_large_list(kind):
        inner = _without_views(kind.value_type)
        of = pa.list_ if types.is_list(kind) else pa.large_list
        return kind if inner is kind.value_type else of(inner)
    if types.is_struct(kind):
        fields = [(field.name, field.type, _without_views(field.type)) for field in kind]
        if any(before is not after for _, before, after in fields):
            return pa.struct([(name, after) for name, _, after in fields])
    return kind
