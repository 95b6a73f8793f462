"""Fills dataclasses of options from Click's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import click
from click.core import ParameterSource

T = TypeVar("T")


def is_given(name: str) -> bool:
    """Return whether the user has given an option of the running command. name: its parameter"""
    context = click.get_current_context()
    return context.get_parameter_source(name) not in (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


def build_options(options_type: type[T], params: Mapping[str, Any], **others: Any) -> T:
    """Return options whose fields have the values of the parameters of the same names. A field that is a dataclass by default is filled in
    the same way; any other field without a parameter keeps its default.

    others: values of the fields for which there is no parameter
    """
    values: dict[str, Any] = {}
    for field in fields(options_type):  # type: ignore[arg-type]
        if field.name in others:
            values[field.name] = others[field.name]
        elif is_dataclass(field.default_factory):
            values[field.name] = build_options(field.default_factory, params, **others)
        elif field.name in params:
            values[field.name] = params[field.name]
    return options_type(**values)
