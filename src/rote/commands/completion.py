"""Shell completion: the shell asks ``rote __complete WORDS``, so that names and keys are always the current ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rote.commands.arguments import options_of, split, values_of
from rote.errors import RoteError, UnknownNameError

SCRIPTS = {
    "bash": """\
_rote_complete() {
  local IFS=$'\\n'
  COMPREPLY=($(rote __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
COMP_WORDBREAKS=${COMP_WORDBREAKS//=/}
complete -F _rote_complete rote
""",
    "zsh": """\
#compdef rote
_rote() {
  local -a found
  found=("${(@f)$(rote __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -S '' -- $found
}
compdef _rote rote
""",
    "fish": """\
complete -c rote -f -a "(rote __complete (commandline -opc)[2..-1] (commandline -ct))"
""",
}


def script(shell: str) -> str:
    if shell not in SCRIPTS:
        raise UnknownNameError("shell", shell, SCRIPTS)
    return SCRIPTS[shell]


def complete(words: list[str], commands: Mapping[str, type[Any]]) -> list[str]:
    """What may stand where the last of ``words`` is being typed; nothing rather than an error."""
    *before, current = words or [""]
    try:
        return [word for word in _candidates(before, current, commands) if word.startswith(current)]
    except RoteError:
        return []


def _candidates(before: list[str], current: str, commands: Mapping[str, type[Any]]) -> list[str]:
    if not before:
        return list(commands)
    command = commands.get(before[0])
    if command is None:
        return []
    if before[-1] in values_of(command):
        return _values(before[-1])
    if current.startswith("-"):
        return [*options_of(command), "--help"]
    options, given = split(before[1:], command)
    store = options[options.index("--store") + 1] if "--store" in options else None
    return _positional(before[0], given, store)


def _values(option: str) -> list[str]:
    from rote.claims import OUTCOMES
    from rote.commands.exporting import FORMATS
    from rote.laboratory import PRESETS, studies
    from rote.store.select import STATUSES

    fixed = {"--preset": PRESETS, "--device": ("auto", "cpu", "cuda", "mps"), "--study": tuple(studies)}
    fixed |= {"--status": STATUSES, "--format": FORMATS, "--source": _sources()}
    fixed |= {"--outcome": tuple(outcome.replace(" ", "-") for outcome in OUTCOMES)}
    return list(fixed.get(option, ()))


def _sources() -> tuple[str, ...]:
    from rote.laboratory import studies

    return tuple(sorted({word for name in studies for word in (studies[name].source.name, studies[name].source.id)}))


def _positional(command: str, given: list[str], store: str | None) -> list[str]:
    from rote.laboratory import studies

    if command in ("run", "sweep", "show", "cite") and not given:
        return list(studies)
    if command in ("run", "sweep"):
        study, set_already = studies[given[0]](), {word.partition("=")[0] for word in given[1:]}
        return [f"{key}=" for key in study.settings(study.default) if key not in set_already]
    if command == "data":
        from rote.tasks.datasets import DATASETS

        return [word for word in (*DATASETS, *studies) if word not in given]
    if command == "reproduce":
        return [word for word in _sources() if word not in given]
    from rote.commands.runs import ACTIONS

    fixed = {
        "list": ["studies", "tasks", "cells", "architectures", "analyses", "claims"],
        "runs": list(ACTIONS),
        "completion": list(SCRIPTS),
    }
    if command in fixed and not given:
        return fixed[command]
    if command == "runs" and given[0] in ("show", "rm", "slim", "export", "keep"):
        from rote.store import Store

        # The shell would put any other folder's name, such as "; rm x", on the line as it is.
        return [row.id for row in Store(store).runs() if row.id.isalnum()]
    return []
