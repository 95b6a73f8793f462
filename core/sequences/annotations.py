"""Annotations of records: columns of text, such as the organism of each record, from a table or from titles as UniProt writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.sequences.string_column import StringColumn, join_columns

TITLE_KEYS = {"organism": "OS", "taxid": "OX", "gene": "GN"}
"""Key of each annotation that UniProt writes in titles, as in OS=Homo sapiens OX=9606 GN=HBA1."""


@dataclass(frozen=True, eq=False)
class AnnotationColumn:
    """A text for each record, empty if unknown. Equal texts are stored once.

    values: distinct texts
    codes: index of each record's text, int32[records]
    """

    values: StringColumn
    codes: npt.NDArray[np.int32]

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> AnnotationColumn:
        """Return the column with these texts, in which tabs and line ends become blanks."""
        numbers: dict[str, int] = {}
        codes = np.fromiter((numbers.setdefault(text, len(numbers)) for text in texts), dtype=np.int32)
        return cls(StringColumn.from_strings([text if text.isprintable() else re.sub(r"[\t\r\n]", " ", text) for text in numbers]), codes)

    @classmethod
    def from_column(cls, texts: StringColumn, threads: int = 1) -> AnnotationColumn:
        """Return the column with these texts, which must have no tabs or line ends. threads: maximum number of threads."""
        codes, firsts = texts.distinct(threads)
        return cls(texts.select(firsts), codes.astype(np.int32))

    def select(self, records: Integers) -> AnnotationColumn:
        """Return the column for some records, in the order of `records`. A record number of -1 stands for an unknown record."""
        if not len(records) or records.min() >= 0:
            return AnnotationColumn(self.values, self.codes[records])
        values = StringColumn.from_strings([*self.values, ""])
        return AnnotationColumn(values, np.append(self.codes, np.int32(len(self.values)))[records])

    def first(self, count: int) -> AnnotationColumn:
        """Return the column for the first `count` records, without copying."""
        return AnnotationColumn(self.values, self.codes[:count])

    def texts_of(self, records: Integers) -> StringColumn:
        """Return the texts of some records, in the order of `records`."""
        return self.values.select(self.codes[records].astype(np.int64))

    def byte_counts(self, records: Integers) -> Integers:
        """Return the size of the texts of some records in bytes: int64[records]."""
        return self.values.lengths[self.codes[records]]

    def is_any_of(self, texts: Collection[str]) -> Booleans:
        """Return a mask of the records whose text is one of `texts`."""
        return self.mask(texts.__contains__)

    def mask(self, is_chosen: Callable[[str], bool]) -> Booleans:
        """Return a mask of the records whose text is chosen."""
        return np.array([is_chosen(value) for value in self.values], dtype=np.bool_)[self.codes]


def join_annotations(columns: Sequence[AnnotationColumn]) -> AnnotationColumn:
    """Concatenate annotations into one column."""
    return AnnotationColumn.from_column(join_columns(one.texts_of(np.arange(len(one.codes))) for one in columns))


def annotations_from_titles(descriptions: StringColumn, names: Iterable[str]) -> dict[str, AnnotationColumn]:
    """Return annotations from titles as UniProt writes them.

    descriptions: text after each record's id
    names: names of the annotations, from `TITLE_KEYS`
    """
    columns = {}
    for name in names:
        find = re.compile(rf"(?:^| ){TITLE_KEYS[name]}=(.*?)(?= [A-Z]{{2}}=|$)").search
        columns[name] = AnnotationColumn.from_texts(found[1].strip() if (found := find(text)) else "" for text in descriptions)
    return columns


def annotation_digest(annotations: Mapping[str, AnnotationColumn]) -> str:
    """Return the SHA-256, in hexadecimal, of all annotations of all records."""
    import hashlib  # short runs do not need it

    digest = hashlib.sha256()
    for name, column in sorted(annotations.items()):
        for text in (name, *column.values):
            digest.update(f"{text}\n".encode("utf-8", "surrogateescape"))
        digest.update(column.codes.astype("<i4").tobytes())
    return digest.hexdigest()
