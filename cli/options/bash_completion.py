"""Bash completion for values with = and :, which bash splits into several words. Importing this module registers it with Click."""

from __future__ import annotations

from click.shell_completion import BashComplete, add_completion_class

from gpualign.cli.options.completion_types import Item


class BashCompletion(BashComplete):
    """Completion for bash, which splits words at = and :. --device=cuda:0 arrives in five parts; a completion replaces the last part."""

    _prefix = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return (complete words, word being typed)."""
        words, last = super().get_completion_args()
        joined = [""]
        for word in [*words, last]:
            if _is_continuation(joined[-1], word):
                joined[-1] += word
            else:
                joined.append(word)
        *complete, incomplete = joined[1:]
        value = incomplete.rpartition("=")[2]
        self._prefix = value[: value.rfind(":") + 1] if "cuda:" in value else ""
        return complete, incomplete

    def format_completion(self, item: Item) -> str:
        """Return `item` as a line for the bash script to read."""
        return f"{item.type},{item.value.removeprefix(self._prefix)}"


def _is_continuation(previous_text: str, word: str) -> bool:
    """Return whether bash has split `word` off `previous_text`, as in --option=value or cuda:0."""
    if previous_text.endswith("cuda:") or (previous_text.startswith("--") and previous_text.endswith("=")):
        return True
    return (word == ":" and previous_text.endswith("cuda")) or (word == "=" and previous_text.startswith("--"))


add_completion_class(BashCompletion)
