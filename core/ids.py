"""Ids of records."""

from __future__ import annotations


def number_repeated(ids: list[str], repeated: list[int]) -> None:
    """Give the records `repeated`, whose ids others have, ids of their own: id_2, id_3, ...; numbers that are taken are passed over."""
    taken = set(ids)
    following: dict[str, int] = {}
    for index in repeated:
        name = ids[index]
        count = following.get(name, 2)
        while f"{name}_{count}" in taken:
            count += 1
        following[name] = count + 1
        ids[index] = f"{name}_{count}"
        taken.add(ids[index])
