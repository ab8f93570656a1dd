"""Presets, the hardware catalogue, known models and published runs: JSON files under presets/, checked by schemas."""

import copy
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import TypeAdapter, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from .configuration import MAX_D_MODEL, Hardware, Preset, Schema, field

if TYPE_CHECKING:
    import pandas as pd


class KnownModel(Schema):
    """A model that was trained, as a landmark beside the curves."""

    name: str = field("Model", "Name of the model.", min_length=1, max_length=80)
    training_flop: float = field("Training compute", "What its training took.", unit="FLOP", ge=1e12, le=1e36)
    approximate: bool = field(
        "Approximate", "Whether the figure is estimated by others than those who trained it.", default=False
    )
    source: str = field("Source", "Where the figure is from.", min_length=1, max_length=500)


MEGATRON_VOCABULARY = 51_200  # GPT-2's, filled up so that tensor parallelism divides it


class PublishedRun(Schema):
    """A training run whose parallelism and speed were published; its pipeline's schedule is 1F1B."""

    name: str = field("Run", "Model, and what sets the run apart.", min_length=1, max_length=80)
    year: int = field("Year", "Of the publication.", ge=2017, le=2100)
    gpu: str = field("GPU", "Name of an entry of the hardware catalogue.", min_length=1, max_length=80)
    params: float = field("Parameters", "All of them, embeddings included.", ge=1e6, le=1e15)
    d_model: int = field("d_model", "Width.", ge=1, le=MAX_D_MODEL)
    n_layers: int = field("Layers", "Number of layers.", ge=1, le=2**20)
    sequence_length: int = field("Sequence length", "Tokens per sequence.", unit="tokens", ge=1, le=2**24)
    n_gpus: int = field("GPUs", "Of the cluster: DP · TP · PP.", ge=1, le=2**31)
    dp: int = field("DP", "Copies of the model.", ge=1, le=2**31)
    tp: int = field("TP", "Shards of each weight matrix.", ge=1, le=2**31)
    pp: int = field("PP", "Pipeline stages.", ge=1, le=2**31)
    batch_sequences: int = field("Batch", "Sequences per gradient step.", unit="sequences", ge=1, le=2**31)
    microbatch_sequences: int | None = field(
        "Microbatch", "Sequences per microbatch, if published.", unit="sequences", default=None, ge=1, le=2**31
    )
    interleaving: int | None = field(
        "Interleaving", "Groups of layers per stage, if published.", default=None, ge=1, le=2**20
    )
    recomputation: Literal["none", "full"] = field("Recomputation", "Of activations, in the backward pass.")
    flop_per_s: float = field("Measured speed", "Of one GPU.", unit="FLOP/s", ge=1e9, le=1e18)
    counted: Literal["hardware", "model"] = field(
        "Counted FLOP",
        "All that the hardware does, as Narayanan et al. 2021 count them, or the model's without recomputation.",
    )
    step_s: float | None = field("Step", "Time of a gradient step, if published.", unit="s", default=None, gt=0, le=1e6)
    source: str = field("Source", "Where the figures are from.", min_length=1, max_length=500)

    @model_validator(mode="after")
    def _nothing_is_left_over(self) -> "PublishedRun":
        degrees = self.dp * self.tp * self.pp
        if degrees != self.n_gpus:
            raise ValueError(f"dp · tp · pp is {degrees}, which should be n_gpus, {self.n_gpus}")
        at_once = self.dp * (self.microbatch_sequences or 1)
        if self.batch_sequences % at_once:
            raise ValueError(f"{at_once} sequences, a microbatch of each copy, do not divide {self.batch_sequences}")
        stage_layers = -(-self.n_layers // self.pp)
        if stage_layers % (self.interleaving or 1) or (self.pp == 1 and (self.interleaving or 1) > 1):
            raise ValueError(f"{stage_layers} layers to a stage cannot be interleaved in {self.interleaving} groups")
        return self

    @property
    def batch_tokens(self) -> int:
        """Tokens per gradient step."""
        return self.batch_sequences * self.sequence_length

    @property
    def model_flop(self) -> float:
        """FLOP of a gradient step that count for MFU here: 6 · params · tokens."""
        return 6 * self.params * self.batch_tokens

    @property
    def hardware_flop(self) -> float:
        """FLOP of a gradient step with full recomputation, attention and vocabulary (Narayanan et al. 2021, eq. 3)."""
        attention = self.sequence_length / (6 * self.d_model)
        vocabulary = MEGATRON_VOCABULARY / (16 * self.n_layers * self.d_model)
        return 96 * self.batch_tokens * self.n_layers * self.d_model**2 * (1 + attention + vocabulary)

    @property
    def measured_step_s(self) -> float:
        """Time of a gradient step: as published, or what the counted FLOP take at the measured speed.

        If attention is among the model's FLOP that were counted, that is too short by its share.
        """
        counted_flop = self.hardware_flop if self.counted == "hardware" else self.model_flop
        return self.step_s or counted_flop / (self.flop_per_s * self.n_gpus)


_CATALOGUE = TypeAdapter(dict[str, Hardware])
_KNOWN_MODELS = TypeAdapter(list[KnownModel])
_PUBLISHED_RUNS = TypeAdapter(list[PublishedRun])
_JSON_OBJECT = TypeAdapter(dict[str, Any])


def load_hardware() -> dict[str, Hardware]:
    """The hardware catalogue, in the order of its file.

    An entry of presets/hardware.json is a `gpu` and its `network`. A variant is written as what sets it apart: the name
    of an earlier entry it is `like`, the fields of the `gpu` that differ, and the `network` if that differs.

    Returns
    -------
    dict[str, Hardware]
        GPU and network by the name of the entry; the caller's own, to change at will.

    Raises
    ------
    pydantic.ValidationError
        If an entry does not fit the schema.
    ValueError
        If an entry is like one that does not stand before it.

    Examples
    --------
    >>> hardware = load_hardware()
    >>> hardware["H100 SXM"].gpu.sm_count
    132
    >>> [level.name for level in hardware["H100 SXM Superpod"].network]
    ['Node', 'Pod', 'Cluster']
    """
    return copy.deepcopy(_hardware(_folder()))


def load_presets() -> dict[str, Preset]:
    """The presets, in the order of their numbered files.

    Returns
    -------
    dict[str, Preset]
        Presets by their titles; the caller's own, to change at will.

    Raises
    ------
    pydantic.ValidationError
        If a file does not fit the schema or names an unknown GPU; a note names the file.
    ValueError
        If two presets have one title.

    Examples
    --------
    >>> presets = load_presets()
    >>> [configuration.name for configuration in presets["GPU generations, dense"].configurations]
    ['H100', 'A100', 'V100']
    """
    return copy.deepcopy(_presets(_folder()))


def load_known_models() -> "pd.DataFrame":
    """Training compute of models that were trained, least first.

    Returns
    -------
    DataFrame
        One row per model: name, training_flop in FLOP, approximate (whether that is estimated by others than those who
        trained it), source. The caller's own, to change at will.

    Raises
    ------
    pydantic.ValidationError
        If a model does not fit the schema.

    Examples
    --------
    >>> models = load_known_models()
    >>> models.name[models.training_flop.idxmin()]
    'GPT-3'
    """
    import pandas as pd

    models = _KNOWN_MODELS.validate_json((_folder() / "known-models.json").read_bytes())
    frame = pd.DataFrame([model.model_dump() for model in models], columns=list(KnownModel.model_fields))
    return frame.sort_values("training_flop", ignore_index=True)


def load_published_runs() -> list[PublishedRun]:
    """Training runs whose parallelism and speed were published, in the order of their file.

    Returns
    -------
    list[PublishedRun]

    Raises
    ------
    pydantic.ValidationError
        If a run does not fit the schema.

    Examples
    --------
    >>> run = load_published_runs()[6]
    >>> run.name, round(run.measured_step_s, 1)
    ('Megatron GPT 145.6B', 24.8)
    """
    return _PUBLISHED_RUNS.validate_json((_folder() / "published-runs.json").read_bytes())


def resolve(preset: str | bytes | Mapping[str, Any]) -> Preset:
    """A preset from a file's text or its parsed JSON, with the names of GPUs replaced by what they name.

    Where a configuration's `gpu` is the name of an entry of the hardware catalogue, it becomes that entry's GPU, and
    the entry's network is used unless the configuration has its own. A preset that names no GPU passes as it is, so
    what `Preset.model_dump_json` writes can be read back.

    Parameters
    ----------
    preset : str, bytes or mapping
        Text of a JSON object, or such an object; it is left as it was.

    Returns
    -------
    Preset
        The whole preset.

    Raises
    ------
    pydantic.ValidationError
        If the text is no JSON object, a GPU is not in the catalogue, or a field is refused by the schema;
        `model.configuration.error_messages` says which field and why.

    Examples
    --------
    >>> text = '{"title": "One", "description": "", "source": "", "configurations": [{"name": "A", "gpu": "A100 SXM"}]}'
    >>> resolve(text).configurations[0].network[0].bandwidth
    600000000000.0
    """
    document = dict(preset) if isinstance(preset, Mapping) else _JSON_OBJECT.validate_json(preset)
    configurations = document.get("configurations")
    if isinstance(configurations, list | tuple):
        hardware = load_hardware()
        _refuse_unknown_gpus(configurations, hardware)
        document["configurations"] = [_with_gpu(configuration, hardware) for configuration in configurations]
    return Preset.model_validate(document)


def _gpu_name(configuration: Any) -> str | None:
    gpu = configuration.get("gpu") if isinstance(configuration, Mapping) else None
    return gpu if isinstance(gpu, str) else None


def _with_gpu(configuration: Any, hardware: Mapping[str, Hardware]) -> Any:
    name = _gpu_name(configuration)
    if name is None:
        return configuration
    return {"network": hardware[name].network, **configuration, "gpu": hardware[name].gpu}


def _refuse_unknown_gpus(configurations: list[Any] | tuple[Any, ...], hardware: Mapping[str, Hardware]) -> None:
    reason = PydanticCustomError(
        "unknown_gpu",
        "no GPU of the hardware catalogue has this name; the known ones are {known}",
        {"known": "; ".join(hardware)},
    )
    unknown = [
        InitErrorDetails(type=reason, loc=("configurations", index, "gpu"), input=name)
        for index, name in enumerate(map(_gpu_name, configurations))
        if name is not None and name not in hardware
    ]
    if unknown:
        raise ValidationError.from_exception_data("Preset", unknown)


def _folder() -> Path:
    """Where the data is: inside the package once installed from a wheel, beside it in a clone."""
    installed = Path(__file__).with_name("presets")
    return installed if installed.is_dir() else Path(__file__).parents[1] / "presets"


@cache
def _hardware(folder: Path) -> dict[str, Hardware]:
    entries: dict[str, Any] = {}
    for name, entry in json.loads((folder / "hardware.json").read_text(encoding="utf-8")).items():
        if "like" in entry:
            like = entry.pop("like")
            if like not in entries:
                raise ValueError(f"{name!r} is like {like!r}, which is not an entry before it: {'; '.join(entries)}")
            entry = entries[like] | entry | {"gpu": entries[like]["gpu"] | entry.get("gpu", {})}
        entries[name] = entry
    return _CATALOGUE.validate_python(entries)


@cache
def _presets(folder: Path) -> dict[str, Preset]:
    presets: dict[str, Preset] = {}
    for path in sorted(folder.glob("[0-9]*.json")):
        try:
            preset = resolve(path.read_bytes())
        except ValidationError as error:
            error.add_note(f"in {path}")
            raise
        if preset.title in presets:
            raise ValueError(f"{path.name} has the title of an earlier preset: {preset.title!r}")
        presets[preset.title] = preset
    return presets
