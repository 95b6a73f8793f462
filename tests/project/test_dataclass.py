"""`core.dataclass` beside the standard library's."""

import copy
import dataclasses
import pickle
import re
from abc import ABC, abstractmethod
from functools import cached_property

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT

from gpualign.core.common.dataclass import dataclass


def family(decorator):
    """The same classes, made by either decorator."""

    @decorator(frozen=True)
    class Base(ABC):
        """Is not made."""

        a: int

        @abstractmethod
        def area(self):
            """To be defined."""

    @decorator(frozen=True)
    class Derived(Base):
        """Defaults of all kinds."""

        b: str = "x"
        c: list = dataclasses.field(default_factory=list, compare=False)
        d: int = dataclasses.field(default=7, repr=False)
        e: int = dataclasses.field(init=False)
        f: None = dataclasses.field(default=None, init=False)

        def __post_init__(self):
            object.__setattr__(self, "e", self.a + self.d)

        def area(self):
            return self.a

        @cached_property
        def twice(self):
            return 2 * self.a

    @decorator(frozen=True)
    class Named:
        """Says itself what it is, and when it is the same."""

        a: int

        def __repr__(self):
            return "named"

        def __eq__(self, other):
            return True

    @decorator(frozen=True, eq=False)
    class Thing:
        """Equal to itself alone."""

        a: int

    @decorator
    class Loose:
        """May change."""

        a: int = 1
        b: list = dataclasses.field(default_factory=list)

    @decorator(eq=False)
    class Counter:
        """May change, and is equal to itself alone."""

        a: int = 1

    return {made.__name__: made for made in (Base, Derived, Named, Thing, Loose, Counter)}


OURS, THEIRS = family(dataclass), family(dataclasses.dataclass)


@dataclass(frozen=True)
class Sent:
    """Goes to other processes."""

    a: int
    b: tuple[int, ...] = (1,)


def outcome(classes, name, args, kwargs):
    """What a call makes, or the type of its error."""
    try:
        made = classes[name](*args, **kwargs)
    except TypeError:
        return TypeError
    return repr(made).replace("family.<locals>.", ""), dataclasses.asdict(made)


names = st.sampled_from("abcdefg")


@given(st.sampled_from(sorted(OURS)), st.lists(st.integers(0, 3), max_size=6), st.dictionaries(names, st.integers(0, 3), max_size=5))
def test_takes_what_the_library_takes(name, args, kwargs):
    assert outcome(OURS, name, args, kwargs) == outcome(THEIRS, name, args, kwargs)


@given(st.sampled_from(["Derived", "Named", "Thing", "Loose", "Counter"]), *[st.lists(st.integers(0, 1), min_size=1, max_size=4)] * 2)
def test_equal_where_the_library_says_so(name, one, other):
    def compared(classes):
        first, second = (classes[name](*args[: len(classes[name].__match_args__)]) for args in (one, other))
        return first == second, first == first, first == 1

    assert compared(OURS) == compared(THEIRS)


@pytest.mark.parametrize("classes", [OURS, THEIRS], ids=["ours", "theirs"])
def test_hashes(classes):
    derived, thing = classes["Derived"], classes["Thing"]
    assert hash(derived(1, c=[2])) == hash(derived(1))
    assert len({thing(1), thing(1)}) == 2
    assert len({classes["Counter"](1), classes["Counter"](1)}) == 2
    assert hash(classes["Named"](1)) != hash(classes["Named"](2))
    with pytest.raises(TypeError, match="unhashable"):
        hash(classes["Loose"]())


@pytest.mark.parametrize("classes", [OURS, THEIRS], ids=["ours", "theirs"])
def test_frozen(classes):
    one = classes["Derived"](1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'a'"):
        one.a = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'a'"):
        del one.a
    assert (one.a, one.twice) == (1, 2)

    loose = classes["Loose"]()
    loose.a = 2
    assert loose == classes["Loose"](2) != classes["Loose"]()
    del loose.b
    assert not hasattr(loose, "b")


@pytest.mark.parametrize("classes", [OURS, THEIRS], ids=["ours", "theirs"])
def test_the_librarys_functions(classes):
    one = dataclasses.replace(classes["Derived"](1), b="y")
    assert [field.name for field in dataclasses.fields(one)] == list("abcdef")
    assert dataclasses.asdict(one) == {"a": 1, "b": "y", "c": [], "d": 7, "e": 8, "f": None}
    assert copy.copy(one) == one
    with pytest.raises(TypeError, match="abstract"):
        classes["Base"](1)


def test_defaults_are_made_for_each():
    assert OURS["Derived"](1).c is not OURS["Derived"](1).c


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, r"Sent.__init__\(\) missing required argument: 'a'"),
        ((1, 2, 3), {}, r"Sent.__init__\(\) takes 2 arguments but 3 were given"),
        ((1,), {"a": 2}, r"Sent.__init__\(\) got multiple values for argument 'a'"),
        ((1,), {"c": 2}, r"Sent.__init__\(\) got an unexpected keyword argument 'c'"),
    ],
)
def test_says_what_is_wrong(args, kwargs, message):
    with pytest.raises(TypeError, match=message):
        Sent(*args, **kwargs)


def test_goes_to_other_processes():
    assert pickle.loads(pickle.dumps(Sent(1))) == Sent(1) == Sent(1, (1,))


LIBRARYS = re.compile(r"^from dataclasses import.*\bdataclass\b|@dataclasses\.dataclass", re.MULTILINE)


def test_the_program_makes_its_own():
    """But for the Python face, which commands do not load, and whose classes have signatures for people."""
    sources = [path for room in ("cli", "papers", "jobs", "cpu", "gpu", "core") for path in (ROOT / room).rglob("*.py")]
    assert len(sources) > 100
    assert [path.name for path in sources if LIBRARYS.search(path.read_text())] == []
