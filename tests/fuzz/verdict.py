"""What is wrong with how a run ended."""

import re
import signal
from dataclasses import dataclass, field
from itertools import pairwise

from fuzz.reference import NoOpinion, Refuse

BASE = 192 << 20
"""Bytes that a run may hold beside its --memory: Python with NumPy, Biopython and htslib, stacks of threads."""


@dataclass
class Outcome:
    """How a run ended. code: as `subprocess` has it; after: the files in its folder; hung: it was killed for its time."""

    code: int
    stdout: bytes
    stderr: bytes
    after: dict[str, bytes]
    peak: int
    hung: bool
    seconds: float


@dataclass
class Verdict:
    """findings: (kind, detail), none where all is well. judged: the output was compared with a reference. code: as a shell shows it."""

    code: int
    findings: list[tuple[str, str]] = field(default_factory=list)
    judged: bool = False


_SIGNALLED = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 143, signal.SIGKILL: 137}
"""Exit codes after a signal; of one that killed the process before it could say more, as a shell shows it."""

_OURS = r'gpualign/([\w/]+\.py)", line \d+, in (\S+)'


def _origin(text):
    """Exception and place of a traceback: what tells one defect from another."""
    places = re.findall(_OURS, text)
    lines = [
        line for line in text.splitlines() if re.match(r"[A-Za-z_][\w.]*(Error|Exception|Interrupt|Exit|Terminated|Warning)?(:|$)", line)
    ]
    where = f" in {places[-1][0]}: {places[-1][1]}" if places else ""
    return (lines[-1].split(":")[0] if lines else "?") + where


def judge(case, outcome):
    """The verdict of a finished run."""
    sent = case.stop[0] if case.stop else None
    shown = outcome.code
    if shown < 0:
        shown = _SIGNALLED[sent] if -shown == sent else 128 - shown
    verdict = Verdict(shown)
    add = verdict.findings.append
    text = outcome.stderr.decode("utf-8", "replace")
    command = case.words[0]
    if outcome.hung:
        add((f"hang ({command})", f"killed after {outcome.seconds:.0f} s"))
        return verdict
    _judge_end(add, case, outcome, sent, shown, text)
    if case.whole is not None:
        _judge_resumed(add, case, outcome, shown)
        verdict.judged = shown == 0
    else:
        _judge_files(add, case, outcome, sent, shown)
    if case.memory and outcome.peak > case.memory + BASE:
        add((f"memory ({command})", f"{outcome.peak >> 20} MiB with --memory {case.memory >> 20}M"))
    # A signal may come when all is written: then what stands under the name is whole.
    whole = shown == 0 or (sent and shown == _SIGNALLED[sent] and case.output)
    if whole and case.judge and (case.output is None or case.output in outcome.after):
        _judge_output(add, case, outcome, verdict)
    elif case.good and shown and not sent and not _asks_for_more_memory(case, text):
        add((f"good input refused ({case.family})", text.strip()[-200:]))
    return verdict


def _asks_for_more_memory(case, text):
    """Threads that were asked for by number are not taken away where --memory does not hold them."""
    return "--threads" in case.words and "memory budget is too small" in text


def _judge_end(add, case, outcome, sent, shown, text):
    if sent == signal.SIGINT and "KeyboardInterrupt" in text and not re.search(_OURS, text):
        return  # Python itself was starting
    if "Traceback" in text or "this is a bug" in text or "Exception ignored" in text:
        add((f"traceback: {_origin(text)}", text.strip()[-300:]))
    if outcome.code < 0 and -outcome.code != sent:
        add((f"death by {signal.Signals(-outcome.code).name} ({case.words[0]})", text.strip()[-300:]))
    elif outcome.code >= 0 and shown not in (0, 1, 2) and shown != _SIGNALLED.get(sent):
        add((f"exit code {shown} ({case.words[0]})", text.strip()[-300:]))
    if outcome.code > 0 and "rror" not in text:
        add((f"no error message ({case.words[0]})", f"exit {shown}: {text[-200:]!r}"))
    if outcome.code == 2 and outcome.stdout:
        add((f"output before a refusal ({case.words[0]})", repr(outcome.stdout[:80])))


def _judge_files(add, case, outcome, sent, shown):
    for name, data in case.files.items():
        if outcome.after.get(name) != data:
            add((f"input changed ({case.words[0]})", name))
    asked = {word.partition("=")[2] for word in case.words if word.startswith(("--log=", "--summary="))}
    asked |= {word for option, word in pairwise(case.words) if option in ("--log", "--summary")}
    made = sorted(set(outcome.after) - set(case.files) - asked)
    if sent and shown == _SIGNALLED[sent]:
        made = [name for name in made if not (name == case.output and case.judge)]
        made = [name for name in made if not _is_kept(case, outcome, made, name)]
        if sent == signal.SIGKILL:  # nobody is left to clear up
            made = [name for name in made if not name.endswith(".part") and "tmp" not in name]
        if made:
            add((f"files left by {signal.Signals(sent).name} ({case.words[0]})", ", ".join(made)))
    elif shown and made:
        kind = "half file" if case.output in made else "files left behind"
        add((f"{kind} after exit {shown} ({case.words[0]})", ", ".join(made)))
    elif not shown and any(name.endswith((".part", ".journal")) for name in made):
        add((f"part file after exit 0 ({case.words[0]})", ", ".join(made)))


def _judge_resumed(add, case, outcome, shown):
    """Either all of the output, and nothing of what was left, or a refusal that changes nothing."""
    expected = {**case.files, **(case.left if shown else case.whole)}
    if not any(name.endswith(".journal") for name in case.left):
        # Parts without a journal are nobody's, but hidden ones, which no run is writing, go.
        expected = {**{name: data for name, data in case.left.items() if not name.startswith(".")}, **expected}
    if shown not in (0, 2):
        add((f"exit code {shown} ({case.family})", outcome.stderr.decode("utf-8", "replace").strip()[-300:]))
    elif outcome.after != expected:
        names = sorted(n for n in {*expected, *outcome.after} if expected.get(n) != outcome.after.get(n))
        kind = "files changed by a refusal" if shown else "wrong output"
        add((f"{kind} ({case.family})", f"{', '.join(names)}: {outcome.stderr.decode('utf-8', 'replace').strip()[-300:]}"))


def _is_kept(case, outcome, made, name):
    """Whether a file is what another run can go on with: parts and their journal, and a message that says how."""
    told = b"resume with: gpualign " in outcome.stderr or outcome.code in (-signal.SIGKILL, 128 + signal.SIGKILL)
    journal = f"{case.output}.journal"
    return told and journal in made and (name == journal or (name.startswith(f"{case.output}.") and name.endswith(".part")))


def _judge_output(add, case, outcome, verdict):
    content = outcome.stdout if case.output is None else outcome.after[case.output]
    try:
        complaint = case.judge(content)
    except NoOpinion:
        return
    except Refuse as error:
        complaint = f"accepted, by the reference there is no such input: {error}"
        verdict.findings.append((f"bad input accepted ({case.family})", complaint))
        return
    except Exception as error:
        complaint = f"the output cannot be judged: {type(error).__name__}: {error}"
    verdict.judged = True
    if complaint:
        add((f"wrong output ({case.family})", complaint))
