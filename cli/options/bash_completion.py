"""How bash cuts the words that it asks about: for Click, which is told when this is imported."""

from __future__ import annotations

from click.shell_completion import BashComplete, add_completion_class

from gpualign.cli.options.completion_types import Item


class Bash(BashComplete):
    """bash cuts words at = and at :, so that --device=cuda:0 comes in five parts, and puts an answer in the place of the last of them."""

    _kept = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """(complete words, word that is being typed)."""
        words, last = super().get_completion_args()
        joined = [""]
        for word in [*words, last]:
            if _continues(joined[-1], word):
                joined[-1] += word
            else:
                joined.append(word)
        *complete, incomplete = joined[1:]
        value = incomplete.rpartition("=")[2]
        self._kept = value[: value.rfind(":") + 1] if "cuda:" in value else ""
        return complete, incomplete

    def format_completion(self, item: Item) -> str:
        """What the script of bash reads, a line."""
        return f"{item.type},{item.value.removeprefix(self._kept)}"


def _continues(before: str, part: str) -> bool:
    """Whether bash has cut a part off what stands before it: --option=value, cuda:0."""
    if before.endswith("cuda:") or (before.startswith("--") and before.endswith("=")):
        return True
    return (part == ":" and before.endswith("cuda")) or (part == "=" and before.startswith("--"))


add_completion_class(Bash)
