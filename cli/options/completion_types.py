"""Click types for arguments and options without a fixed set of choices, with tab completion.

The types accept any text except an empty name, including `-`. Invalid values are reported by the code that opens the file or selects the
device. Nothing here loads NumPy, because the shell waits for the completion.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# CompletionItem and ParamType are generic from later releases of click 8 on.
Item: TypeAlias = "CompletionItem[str]"  # type: ignore[type-arg,unused-ignore]
Items: TypeAlias = list[Item]

_DEVICE_NAMES = ("auto", "cpu", "cuda", "cuda:0", "cuda:all", "all")


def _completion_item(value: str, kind: str = "plain") -> Item:
    from click.shell_completion import CompletionItem  # needed for completion only

    return CompletionItem(value, type=kind)


def _plain_items(values: Sequence[str], incomplete: str) -> Items:
    return [_completion_item(value) for value in values if value.startswith(incomplete)]


class NameType(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A non-empty name."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value:
            self.fail("a name is empty.", param, ctx)  # `-o "$out"` in a script with $out unset
        return value


class PathType(NameType):
    """A file, or with `is_folder` a folder. The names are completed by the shell itself."""

    name = "path"

    def __init__(self, is_folder: bool = False) -> None:
        self._kind = "dir" if is_folder else "file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
        return [_completion_item(incomplete, self._kind)]


class DeviceType(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Value of --device: a name or comma-separated list. The number of devices is not checked, because querying the driver is too slow."""

    name = "device"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
        if "," not in incomplete:
            return _plain_items(_DEVICE_NAMES, incomplete)
        *before, last = incomplete.split(",")
        others = ("cuda", "cuda:0", "cuda:all") if before == ["cpu"] else () if "cpu" in before else ("cpu",)
        return _plain_items([",".join([*before, name]) for name in others], ",".join([*before, last]))


class ListType(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Comma-separated names. Completes the last name, with names not yet in the list."""

    name = "list"

    def __init__(self, names: str) -> None:
        """Offer these names. names: comma-separated; white space is ignored."""
        self._names = "".join(names.split()).split(",")

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
        *before, last = incomplete.split(",")
        start = "".join(f"{name}," for name in before)
        return _plain_items([start + name for name in self._names if name not in before], start + last)


class MatrixType(NameType):
    """The name or file of a substitution matrix."""

    name = "matrix"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
        from gpualign.core.scoring import biopython_matrices as collection

        names = _plain_items(collection.matrix_names(), incomplete)
        if not names:
            return PathType().shell_complete(ctx, param, incomplete)
        # If names are offered, shells do not add files themselves.
        files = sorted(path.name for path in Path().iterdir() if path.is_file() and not path.name.startswith("."))
        return names + _plain_items(files, incomplete)
