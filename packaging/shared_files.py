"""The man pages and completion scripts of packaging/share, which a wheel installs below share/. Run as a script, it writes them anew.

They are kept in the repository so that a build needs no program of ours to run.
tests/project/test_shared_files.py compares them with `--help`.
"""

from __future__ import annotations

import re
from inspect import cleandoc
from pathlib import Path

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete
from click_man.man import ManPage

from gpualign import __version__
from gpualign.cli.main import CONTEXT_SETTINGS, cli
from gpualign.cli.options.headings import CommandWithHeadings, Heading

SHARE = Path(__file__).resolve().parent / "share"

_COMPLETIONS = {
    "bash-completion/completions/gpualign": BashComplete,
    "zsh/site-functions/_gpualign": ZshComplete,
    "fish/vendor_completions.d/gpualign.fish": FishComplete,
}
_ROFF = str.maketrans({"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"})


def _escaped(text: str) -> str:
    """Text that roff shows as it is: dashes and quotes that can be copied into a shell, no line that is a request."""
    return re.sub(r"(?m)^\.", r"\\&.", text.translate(_ROFF))


class _Page(ManPage):  # type: ignore[misc]
    """A page that knows Click's mark of paragraphs whose lines are not to be filled."""

    def replace_blank_lines(self, s: str) -> str:
        """Paragraphs in roff."""
        paragraphs = []
        for paragraph in re.split(r"\n\s*\n", s):
            kept, text = paragraph.startswith("\b\n"), _escaped(paragraph.removeprefix("\b\n"))
            paragraphs.append(f".nf\n{text}\n.fi" if kept else text)
        return "\n.PP\n".join(paragraphs)


def _short(command: click.Command) -> str:
    return command.get_short_help_str(limit=200)


def _page(context: click.Context) -> str:
    command = context.command
    page = _Page(context.command_path)
    page.version, page.date = __version__, ""
    page.short_help = _escaped(_short(command))
    page.synopsis = " ".join(command.collect_usage_pieces(context))
    page.description = cleandoc(command.help or "")
    if isinstance(command, CommandWithHeadings):
        return _with_headings(page, command.sections(context))
    options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    page.options = [record for option in options if (record := option.get_help_record(context))]
    if isinstance(command, click.Group):
        page.commands = [(name, _short(one)) for name, one in command.commands.items()]
    return str(page)


def _with_headings(page: _Page, sections: dict[Heading, list[tuple[str, str]]]) -> str:
    """The text of a page with options below headings. click-man writes a single list, so each is cut from a page of its own."""
    start, lists = ".SH OPTIONS\n", ""
    for heading, records in sections.items():
        page.options = records
        top, _, options = str(page).partition(start)
        lists += f".SS {heading.value}\n{options}"
    return f"{top}{start}{lists}"


def contents() -> dict[str, str]:
    """The text of each file, by its path below share/."""
    top = click.Context(cli, info_name="gpualign", **CONTEXT_SETTINGS)
    contexts = [top, *(click.Context(command, info_name=name, parent=top) for name, command in cli.commands.items())]
    files = {f"man/man1/{context.command_path.replace(' ', '-')}.1": _page(context) for context in contexts}
    for path, shell in _COMPLETIONS.items():
        script = shell(cli, {}, "gpualign", "_GPUALIGN_COMPLETE")
        files[path] = (script.source_template % script.source_vars()).strip() + "\n"
    return files


def write() -> None:
    """Writes each file."""
    for path, text in contents().items():
        (SHARE / path).parent.mkdir(parents=True, exist_ok=True)
        (SHARE / path).write_text(text)


if __name__ == "__main__":
    write()
