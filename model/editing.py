"""Configurations and questions while somebody edits them: what is typed, and the last of it that was valid."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pydantic import ValidationError

from model.characters import one_line
from model.configuration import Configuration, Hardware, Schema, error_messages
from model.form import Draft, Input, Path, changed, inputs_of, replaced, value_at
from model.questions import Questions
from model.workspace import COLOURS, Shown, Workspace

Validated = TypeVar("Validated", bound=Schema)
NAME_TAKEN = "Another configuration has this name."


@dataclass(frozen=True)
class Entry:
    """A configuration being edited.

    Attributes
    ----------
    draft : nested dicts and tuples
        What is typed, refused values included.
    valid : Configuration
        The last draft that the schema accepted under a name of its own.
    shown : Shown
        Whether it is included, its colour, and the configuration of the preset that it came from.
    problems : dict
        What is wrong with the draft, by the location of the input.
    applied : Configuration or None
        What was last asked to be simulated.
    drawn : Configuration or None
        What was last simulated.
    laws : dict
        Parameters of the laws that are not chosen now, so that choosing them again brings them back.
    """

    draft: Draft
    valid: Configuration
    shown: Shown
    problems: Mapping[str, str] = field(default_factory=dict)
    applied: Configuration | None = None
    drawn: Configuration | None = None
    laws: Mapping[tuple[Path, str], Draft] = field(default_factory=dict)


Entries = dict[int, Entry]  # by numbers that no other entry of the page ever has


def opened(workspace: Workspace, numbers: Iterator[int]) -> Entries:
    """The entries of a workspace, which take their numbers from an iterator."""
    triples = zip(workspace.configurations, workspace.shown, numbers, strict=False)
    return {
        number: Entry(configuration.model_dump(), configuration, shown, applied=configuration)
        for configuration, shown, number in triples
    }


def typed(entries: Entries, number: int, item: Input, value: Any) -> Entries:
    """The entries after a widget of one was changed: its draft follows, and what is valid does if the schema agrees.

    `value` is what the widget of `item` holds.
    """
    entry = entries[number]
    value = item.read(value)
    draft, laws = changed(entry.draft, item, value), entry.laws
    if item.kind == "law":
        left = value_at(entry.draft, item.path)
        laws = {**laws, (item.path, left["law"]): left}
        draft = replaced(draft, item.path, laws.get((item.path, value), value_at(draft, item.path)))
    checked = _checked(replace(entry, draft=draft, laws=laws), _other_names(entries, number))
    return _with_names_freed(entries | {number: checked})


def _checked(entry: Entry, taken: Collection[str]) -> Entry:
    configuration, problems = _validated(Configuration, entry.draft)
    if one_line(entry.draft["name"]) in taken:
        problems = problems | {"name": NAME_TAKEN}
    return replace(entry, valid=configuration if configuration and not problems else entry.valid, problems=problems)


def _validated(schema: type[Validated], draft: Draft) -> tuple[Validated | None, dict[str, str]]:
    """What the schema makes of a draft, and what it refuses, in the words and units of the form.

    Messages of no input keep their own.
    """
    try:
        return schema.model_validate(draft), {}
    except ValidationError as error:
        messages = error_messages(error)
    items = {item.location: item for item in inputs_of(schema, draft)}
    problems = {}
    for location, message in messages.items():
        inside = next((place for place in _outwards(location) if place in items), None)  # one line of a text is refused
        if inside is None:
            problems[location] = message
        else:
            problems[inside] = items[inside].complaint(value_at(draft, items[inside].path), message)
    return None, problems


def _outwards(location: str) -> Iterator[str]:
    """A location, and those that it is in."""
    while location:
        yield location
        location = location.rpartition(".")[0]


def _other_names(entries: Entries, number: int) -> set[str]:
    return {entry.valid.name for key, entry in entries.items() if key != number}


def _with_names_freed(entries: Entries) -> Entries:
    """The entries, of which those that wait for a name get it if no other has it any more."""
    for number, entry in entries.items():
        if entry.problems.get("name") == NAME_TAKEN:
            entries = entries | {number: _checked(entry, _other_names(entries, number))}
    return entries


def removed(entries: Entries, number: int) -> Entries:
    """The entries without one."""
    return _with_names_freed({key: entry for key, entry in entries.items() if key != number})


def put_back(entries: Entries, number: int, configuration: Configuration) -> Entries:
    """The entries with one as it was in its preset, under another name if its own is taken meanwhile."""
    name = free_name(configuration.name, _other_names(entries, number))
    fresh, entry = configuration.model_copy(update={"name": name}), entries[number]
    entry = replace(entry, draft=fresh.model_dump(), valid=fresh, problems={}, laws={})
    return _with_names_freed(entries | {number: entry})


def with_hardware(entries: Entries, number: int, hardware: Hardware) -> Entries:
    """The entries with one on another GPU and its network; what else is typed stays, refused values too."""
    entry = entries[number]
    valid = entry.valid.model_copy(update=dict(hardware))
    entry = replace(entry, draft=entry.draft | hardware.model_dump(), valid=valid)
    return entries | {number: _checked(entry, _other_names(entries, number))}


def added(entries: Entries, number: int, configuration: Configuration) -> Entries:
    """The entries with one more, of a name and, as far as there are enough, a colour of its own."""
    name = free_name(configuration.name, {entry.valid.name for entry in entries.values()})
    used = [entry.shown.colour for entry in entries.values()]
    colour = min(range(COLOURS), key=lambda slot: (used.count(slot), slot))
    configuration = configuration.model_copy(update={"name": name})
    return entries | {number: Entry(configuration.model_dump(), configuration, Shown(colour=colour, origin=None))}


def free_name(name: str, taken: Collection[str]) -> str:
    """A name that is not taken: H100, H100 (2), H100 (3) …"""
    stem = re.sub(r" \(\d{1,3}\)$", "", name)[:70]
    candidates = (name if count == 1 else f"{stem} ({count})" for count in range(1, len(taken) + 3))
    return next(candidate for candidate in candidates if candidate not in taken)


# --- questions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """Questions being edited.

    Attributes
    ----------
    draft : nested dicts
        What is typed, refused values included.
    valid : Questions
        Of each question, the last draft that the schema accepted.
    problems : dict
        What is wrong with the draft, by the location of the input.
    """

    draft: Draft
    valid: Questions
    problems: Mapping[str, str] = field(default_factory=dict)


def asked_of(questions: Questions) -> Asked:
    """Questions of which nothing was changed yet."""
    return Asked(questions.model_dump(), questions)


def answered(asked: Asked, item: Input, value: Any) -> Asked:
    """The questions after a widget was changed; `value` is what the widget of `item` holds."""
    return _with_draft(asked, changed(asked.draft, item, item.read(value)))


def with_values(asked: Asked, question: str, values: Mapping[str, Any]) -> Asked:
    """The questions with several values of one set at once, as the schema has them or as a row of a frame has.

    Examples
    --------
    >>> best = {"dp": 8, "tp": 4}
    >>> with_values(asked_of(Questions()), "strategy", best).valid.strategy.dp
    8
    """
    plain = {name: value.item() if hasattr(value, "item") else value for name, value in values.items()}
    return _with_draft(asked, asked.draft | {question: asked.draft[question] | plain})


def with_defaults(asked: Asked, question: str) -> Asked:
    """The questions with one as it is at first; the others stay as they are, refused values too."""
    return with_values(asked, question, getattr(Questions(), question).model_dump())


def _with_draft(asked: Asked, draft: Draft) -> Asked:
    """Each question counts as soon as the schema accepts it, whatever is wrong with the others."""
    questions, problems = _validated(Questions, draft)
    if questions is None:
        refused = {location.partition(".")[0] for location in problems}
        questions = Questions.model_validate(draft | {name: getattr(asked.valid, name) for name in refused})
    return Asked(draft, questions, problems)
