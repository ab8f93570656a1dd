"""What is simulated: the configuration schema, validated, frozen and readable as JSON.

Every limit, unit and default of an input is stated here, once, in the field that owns it.
"""

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    PlainSerializer,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

from model.characters import one_line

MAX_D_MODEL = 2**24
MOST_LEVELS = 4  # of a network
MOST_CONFIGURATIONS = 100  # of a preset, a file or a page
MOST_ASKED = 10**12  # GPUs, tokens of a batch, degrees: beyond every purpose, and their divisors are soon found
TRAINING_RUN = "Training run"
TOKENS_DEFAULT = 2048 * 2048
FLOP_REFERENCE = 3e23
MOST_USAGES = 512  # ways to share the inner levels' units out; `workload` bounds what a search makes of them


class Schema(BaseModel):
    """Frozen, closed to unknown fields, strict about types."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
    )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some fields changed, which are validated like any input."""
        copy = super().model_copy(deep=deep)
        return type(self).model_validate(dict(copy) | dict(update)) if update else copy


def field(
    title: str,
    description: str,
    *,
    unit: str = "",
    shown: str = "",
    section: str = "",
    chosen_by: str = "",
    **constraints: Any,
) -> Any:
    """A pydantic field with its title, one-line description, unit and what a form needs beside them.

    `shown` is the unit that suits a screen, `section` the part of a form, and `chosen_by` the field that says which
    entry of a mapping counts. Where a law has no default for a field, `examples` holds the value to start from.
    """
    extra: JsonDict = {"unit": unit, "shown": shown or unit, "section": section, "chosen_by": chosen_by}
    return Field(title=title, description=description, json_schema_extra=extra, **constraints)


def noted(info: FieldInfo) -> dict[str, str]:
    """What `field` notes of a field beside what pydantic knows: unit, shown, section and chosen_by."""
    return cast("dict[str, str]", info.json_schema_extra)


def as_tuple(value: Any) -> Any:
    """JSON and YAML know only lists."""
    return tuple(value) if isinstance(value, list) else value


def _one_line(value: Any) -> Any:
    return one_line(value) if isinstance(value, str) else value


def _infinity_from_text(value: Any) -> Any:
    return math.inf if value in ("Infinity", "inf") else value


def _infinity_to_text(value: float) -> float | str:
    return "Infinity" if value == math.inf else value


def infinite_if_huge(value: float) -> float:
    if MOST_BANDWIDTH < value < math.inf:
        raise ValueError(f"should be at most {MOST_BANDWIDTH:g}, or infinite")
    return value


_WHOLE = re.compile("[1-9][0-9]{0,8}")


def _bits_from_text(value: Any) -> Any:
    """Object keys are always text in JSON."""
    if isinstance(value, dict):
        return {
            int(key) if isinstance(key, str) and _WHOLE.fullmatch(key) else key: rate for key, rate in value.items()
        }
    return value


# Bounds wide enough for any machine and narrow enough that no product of quantities overflows a float.
MOST_BANDWIDTH = 1e21
Bandwidth = Annotated[float, Field(ge=1e3, le=MOST_BANDWIDTH)]
Bytes = Annotated[float, Field(ge=1e3, le=1e18)]
Latency = Annotated[float, Field(ge=0, le=10)]
LevelBandwidth = Annotated[
    float,
    Field(allow_inf_nan=True, ge=1e3),
    BeforeValidator(_infinity_from_text),
    AfterValidator(infinite_if_huge),
    PlainSerializer(_infinity_to_text, when_used="json"),
]
Degree = Annotated[int, Field(ge=1, le=2**62)]
Degrees = Annotated[tuple[Degree, ...], BeforeValidator(as_tuple), Field(min_length=1, max_length=MOST_LEVELS)]
Line = Annotated[str, BeforeValidator(_one_line)]  # every text is shown on one line
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80), BeforeValidator(_one_line)]
Text = Annotated[str, Field(max_length=500), BeforeValidator(_one_line)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(as_tuple), Field(max_length=40)]


class Gpu(Schema):
    """One accelerator and its memory hierarchy (spec section 2)."""

    name: Name = field("GPU", "Name of the accelerator.")
    flop_per_clock_per_thread: Annotated[
        dict[Annotated[int, Field(ge=1, le=128)], Annotated[float, Field(ge=1e-6, le=1e6)]],
        BeforeValidator(_bits_from_text),
    ] = field(
        "FLOP per clock per thread",
        "Arithmetic rate at each precision, dense, with 128 threads to a streaming multiprocessor (SM).",
        chosen_by="precision_bits",
        min_length=1,
        max_length=8,
    )
    precision_bits: int = field("Precision", "Width of the numbers that are multiplied and sent.", unit="bits")
    register_bytes_per_block: Bytes = field(
        "Registers per processing block",
        "Register file of one of an SM's four processing blocks.",
        unit="B",
        shown="KiB",
    )
    sm_count: int = field("SMs", "Number of streaming multiprocessors.", ge=1, le=10**6)
    l2_bandwidth: Bandwidth = field(
        "L2 bandwidth", "Read and write bandwidth of the L2 cache.", unit="B/s", shown="GB/s"
    )
    l2_bytes: Bytes = field("L2 cache", "Size of the L2 cache.", unit="B", shown="MiB")
    hbm_bandwidth: Bandwidth = field(
        "Memory bandwidth", "Bandwidth of the GPU's memory (HBM).", unit="B/s", shown="GB/s"
    )
    hbm_bytes: Bytes = field("Memory", "Size of the GPU's memory (HBM).", unit="B", shown="GB")
    max_clock_hz: float = field(
        "Maximum clock", "Clock at which peak FLOP/s are counted.", unit="Hz", shown="MHz", ge=1e6, le=1e12
    )
    effective_utilization: float = field(
        "Effective utilization",
        "Sustained over peak FLOP/s in long runs of large matmuls: the most MFU can be.",
        shown="%",
        ge=1e-4,
        le=1,
    )
    distributed_shared_memory: bool = field(
        "Distributed shared memory", "Whether SMs read each other's shared memory without passing through L2."
    )
    matmul_latency_s: Latency = field(
        "Matmul latency", "Fixed cost of starting and ending one matmul.", unit="s", shown="µs"
    )
    price_usd: float | None = field("Price", "Price of one GPU, if known.", unit="US$", default=None, ge=0, le=1e9)
    power_w: float | None = field("Power", "Board power of one GPU, if known.", unit="W", default=None, ge=0, le=1e6)
    sources: Texts = field("Sources", "Where the figures are from.", default=())
    guesses: Texts = field(
        "Guesses", "Figures that are guesses, of the GPU and of the network that it comes with.", default=()
    )

    @field_validator("precision_bits")
    @classmethod
    def _precision_has_a_rate(cls, bits: int, info: ValidationInfo) -> int:
        rates = info.data.get("flop_per_clock_per_thread", {bits: None})
        if bits not in rates:
            raise ValueError(f"precision_bits must be one of flop_per_clock_per_thread's: {', '.join(map(str, rates))}")
        return bits

    @field_validator("guesses")
    @classmethod
    def _guesses_are_fields(cls, guesses: tuple[str, ...]) -> tuple[str, ...]:
        of_network = {"network", *(f"network.{name}" for name in NetworkLevel.model_fields)}
        unknown = [name for name in guesses if name not in cls.model_fields and name not in of_network]
        if unknown:
            names = f"{', '.join(unknown):.80}"
            raise ValueError(f"guesses names {names}, which is no field of a GPU or of its network")
        return guesses

    @property
    def word_bytes(self) -> float:
        """Bytes of one number."""
        return self.precision_bits / 8

    @property
    def max_flop_per_s(self) -> float:
        """Peak FLOP/s at the maximum clock; MFU is relative to this."""
        return self.flop_per_clock_per_thread[self.precision_bits] * 128 * self.sm_count * self.max_clock_hz

    @property
    def flop_per_s(self) -> float:
        """Sustained FLOP/s."""
        return self.effective_utilization * self.max_flop_per_s


class NetworkLevel(Schema):
    """One level of the network hierarchy (spec section 3)."""

    name: Name = field("Name of the level", "Such as Node or Cluster.")
    bandwidth: LevelBandwidth = field(
        "Bandwidth per GPU",
        "Reads plus writes: a GPU that sends 1 byte a second while it receives 1 counts as 2 B/s, so an 8 × 400 Gbit/s "
        "node gives each of its 8 GPUs 100 GB/s. May be infinite (∞).",
        unit="B/s",
        shown="GB/s",
    )
    latency_s: Latency = field("Latency", "Latency of a point-to-point message.", unit="s", shown="µs")
    size: int | None = field(
        "Size",
        "How many units of the level below it joins (GPUs, for the innermost). "
        "None for the outermost, which joins the rest.",
        default=None,
        ge=1,
        le=2**20,
    )


class ChinchillaDataset(Schema):
    """D = tokens_per_parameter · N (Hoffmann et al. 2022)."""

    model_config = ConfigDict(title="In proportion to parameters")
    law: Literal["chinchilla"] = "chinchilla"
    tokens_per_parameter: float = field("Tokens per parameter", "20 is compute-optimal.", default=20, ge=1e-6, le=1e6)


class PowerDataset(Schema):
    """D = coefficient · N^exponent."""

    model_config = ConfigDict(title="Power law")
    law: Literal["power"]
    coefficient: float = field(
        "Coefficient", "Tokens at one parameter.", unit="tokens", ge=1e-12, le=1e12, examples=[20.0]
    )
    exponent: float = field("Exponent", "Growth of dataset tokens with parameters.", ge=0, le=2, examples=[1.0])


class HoffmannDepth(Schema):
    """n_layers = 0.10056 · (d_model · d_ff)^0.3751 (fit to Hoffmann et al. 2022)."""

    model_config = ConfigDict(title="Fit to Hoffmann et al. 2022")
    law: Literal["hoffmann"] = "hoffmann"


class PowerDepth(Schema):
    """n_layers = coefficient · (d_model · d_ff)^exponent."""

    model_config = ConfigDict(title="Power law")
    law: Literal["power"]
    coefficient: float = field("Coefficient", "Layers at d_model · d_ff = 1.", ge=1e-12, le=1e9, examples=[0.10056])
    exponent: float = field("Exponent", "Growth of layers with d_model · d_ff.", ge=-1, le=1, examples=[0.3751])


class FixedDepth(Schema):
    """The same number of layers at every width."""

    model_config = ConfigDict(title="Fixed")
    law: Literal["fixed"]
    n_layers: int = field("Layers", "Number of layers at every width.", ge=1, le=2**20, examples=[96])


class DenseSparsity(Schema):
    """No experts: every parameter is active."""

    model_config = ConfigDict(title="Dense")
    law: Literal["dense"] = "dense"


class LinearWidthSparsity(Schema):
    """E = 8 · (d_model · d_ff / (4 · 12288²))^0.5."""

    model_config = ConfigDict(title="Experts grow with width")
    law: Literal["linear-width"]


class FixedSparsity(Schema):
    """The same number of experts at every width."""

    model_config = ConfigDict(title="Fixed number of experts")
    law: Literal["fixed"]
    factor: int = field("Experts", "Experts per block, of which a token visits one.", ge=1, le=2**16, examples=[8])


class DefaultBatch(Schema):
    """Batch ∝ training FLOP^(1/6), 4 Mi tokens at 3 × 10²³ FLOP (Erdil & Schneider-Joseph 2024)."""

    model_config = ConfigDict(title="Growing as FLOP^(1/6)")
    law: Literal["default"] = "default"


class ConstantBatch(Schema):
    """The same batch at every scale."""

    model_config = ConfigDict(title="Constant")
    law: Literal["constant"]
    tokens: float = field(
        "Batch", "Tokens per batch at every scale.", unit="tokens", default=TOKENS_DEFAULT, ge=1, le=1e15
    )


class DeepSeekBatch(Schema):
    """Batch = 0.2920 · training FLOP^0.3271 tokens (Bi et al. 2024)."""

    model_config = ConfigDict(title="DeepSeek (Bi et al. 2024)")
    law: Literal["deepseek"]


class ZhangBatch(Schema):
    """Batch = 17.75 · dataset tokens^0.47 tokens (Zhang et al. 2024)."""

    model_config = ConfigDict(title="Zhang et al. 2024")
    law: Literal["zhang"]


class PowerBatch(Schema):
    """Batch = tokens_at_reference · (training FLOP / reference_flop)^exponent."""

    model_config = ConfigDict(title="Power law")
    law: Literal["power"]
    tokens_at_reference: float = field(
        "Batch at the reference",
        "Tokens per batch at the reference FLOP.",
        unit="tokens",
        ge=1,
        le=1e15,
        examples=[float(TOKENS_DEFAULT)],
    )
    reference_flop: float = field(
        "Reference", "Training FLOP of the reference.", unit="FLOP", ge=1e12, le=1e36, examples=[FLOP_REFERENCE]
    )
    exponent: float = field("Exponent", "Growth of the batch with training FLOP.", ge=0, le=1, examples=[0.1667])


DatasetLaw = Annotated[ChinchillaDataset | PowerDataset, Field(discriminator="law")]
DepthLaw = Annotated[HoffmannDepth | PowerDepth | FixedDepth, Field(discriminator="law")]
SparsityLaw = Annotated[DenseSparsity | LinearWidthSparsity | FixedSparsity, Field(discriminator="law")]
BatchLaw = Annotated[DefaultBatch | ConstantBatch | DeepSeekBatch | ZhangBatch | PowerBatch, Field(discriminator="law")]


class ScalingLaws(Schema):
    """How a transformer and its training grow with its width (spec section 1)."""

    d_ff_ratio: float = field(
        "d_ff / d_model", "Width of the feed-forward block over d_model.", default=4, ge=0.25, le=64
    )
    sequence_length: int = field(
        "Sequence length", "Tokens per sequence.", unit="tokens", section=TRAINING_RUN, default=2048, ge=1, le=2**24
    )
    dataset: DatasetLaw = field("Dataset", "How the number of tokens trained on grows.", default=ChinchillaDataset())
    depth: DepthLaw = field("Depth", "How the number of layers grows.", default=HoffmannDepth())
    sparsity: SparsityLaw = field("Sparsity", "How the number of experts per block grows.", default=DenseSparsity())
    batch: BatchLaw = field("Batch", "How the number of tokens per gradient step grows.", default=DefaultBatch())
    depth_multiplier: float = field("Depth multiplier", "Times the layers of the law.", default=1, ge=1e-3, le=1e3)
    batch_multiplier: float = field("Batch multiplier", "Times the batch of the law.", default=1, ge=1e-6, le=1e6)


class Assumptions(Schema):
    """How long the run may take and what its software can do (spec sections 4 and 5)."""

    training_months: float = field(
        "Training time", "Longest allowed run.", unit="months", section=TRAINING_RUN, default=3, ge=1e-12, le=1200
    )
    overlap_tp: bool = field("Overlap TP", "Tensor-parallel communication overlaps compute.", default=True)
    overlap_pp: bool = field("Overlap PP and EP", "Pipeline and expert communication overlap compute.", default=True)
    overlap_dp: bool = field("Overlap DP", "Data-parallel communication overlaps compute.", default=False)
    zero_bubble: bool = field("Zero-bubble schedule", "Try the zero-bubble schedule besides 1F1B.", default=True)
    interleaving: bool = field(
        "Interleaving", "1F1B gives each pipeline stage several groups of layers, one layer each.", default=True
    )
    activations: Literal["ignored", "recomputed", "stored"] = field(
        "Activations", "Whether stored activations count against memory, or are recomputed.", default="ignored"
    )


class Sweep(Schema):
    """The widths of one curve: multiples with at most 4 significant bits (spec section 1)."""

    d_model_min: int = field("Smallest d_model", "Where the sweep starts.", default=12288, ge=64, le=MAX_D_MODEL)
    d_model_max: int = field("Largest d_model", "Where the sweep ends.", default=1572864, ge=64, le=MAX_D_MODEL)
    d_model_multiple: int = field(
        "Step of d_model", "Widths are multiples of this.", default=2048, ge=1, le=MAX_D_MODEL
    )

    @field_validator("d_model_max")
    @classmethod
    def _ends_in_order(cls, largest: int, info: ValidationInfo) -> int:
        if largest < info.data.get("d_model_min", largest):
            raise ValueError(f"the largest d_model must not be below the smallest, {info.data['d_model_min']:,}")
        return largest


Network = Annotated[tuple[NetworkLevel, ...], BeforeValidator(as_tuple), Field(min_length=1, max_length=MOST_LEVELS)]


def _check_sizes(network: tuple[NetworkLevel, ...]) -> tuple[NetworkLevel, ...]:
    sizes = []
    for index, level in enumerate(network[:-1]):
        if level.size is None:
            raise ValueError(f"network.{index}.size is missing: every level but the outermost has a size")
        sizes.append(level.size)
    if network[-1].size is not None:
        raise ValueError(
            f"network.{len(network) - 1}.size is {network[-1].size}, "
            "but the outermost level has no size: it joins the rest"
        )
    usages = math.prod(size.bit_length() for size in sizes)
    if usages > MOST_USAGES:
        raise ValueError(
            f"the levels' sizes, {' × '.join(map(str, sizes))}, give {usages} ways to share a level's units out, more "
            f"than the {MOST_USAGES} that are searched: make the largest smaller, or leave a level out"
        )
    return network


class Configuration(Schema):
    """Everything one curve depends on."""

    name: Name = field("Name", "Name of the configuration.")
    gpu: Gpu = field("GPU", "The accelerator.")
    network: Network = field("Network levels", "How many, innermost first.", section="Network")
    scaling: ScalingLaws = field("Scaling laws", "How the model grows.", default=ScalingLaws())
    assumptions: Assumptions = field(
        "Parallelism and communication", "What the software can do, and how long it may run.", default=Assumptions()
    )
    sweep: Sweep = field("Sweep", "Widths of the curve.", section=TRAINING_RUN, default=Sweep())

    _sizes = field_validator("network")(_check_sizes)


class Hardware(Schema):
    """An entry of the hardware catalogue."""

    gpu: Gpu = field("GPU", "The accelerator.")
    network: Network = field("Network levels", "How many, innermost first.", section="Network")

    _sizes = field_validator("network")(_check_sizes)


class Preset(Schema):
    """A titled list of configurations to compare."""

    title: Line = field("Title", "Name of the preset.", min_length=1, max_length=120)
    description: Line = field("Description", "What the preset shows.", max_length=2000)
    source: Line = field("Source", "Where it is from.", max_length=500)
    # FailFast, for to say what is wrong with each of thousands takes seconds.
    configurations: Annotated[tuple[Configuration, ...], FailFast(), BeforeValidator(as_tuple)] = field(
        "Configurations", "What is compared.", min_length=1, max_length=MOST_CONFIGURATIONS
    )

    @field_validator("configurations")
    @classmethod
    def _names_differ(cls, configurations: tuple[Configuration, ...]) -> tuple[Configuration, ...]:
        names = [configuration.name for configuration in configurations]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            quoted = f"{', '.join(map(repr, repeated)):.80}"
            raise ValueError(f"configurations must have different names, got {quoted} repeated")
        return configurations


class Shape(Schema):
    """One model and its batch (spec section 1)."""

    d_model: int = field("d_model", "Width.", ge=1, le=MAX_D_MODEL)
    d_ff: int = field("d_ff", "Width of the feed-forward block.", ge=1, le=64 * MAX_D_MODEL)
    n_layers: int = field("Layers", "Number of layers.", ge=1, le=2**62)
    sparsity: int = field("Sparsity", "Experts per block.", default=1, ge=1, le=2**62)
    batch_tokens: int = field("Batch", "Tokens per gradient step.", unit="tokens", ge=1, le=2**53)


class Strategy(Schema):
    """How one step is split over the cluster: each degree over the network levels, innermost first (spec section 4)."""

    dp: Degrees = field("Data parallel", "Copies of the model.")
    tp_model: Degrees = field("Tensor parallel, d_model", "Shards of d_model.")
    tp_ff: Degrees = field("Tensor parallel, d_ff", "Shards of d_ff.")
    pp: Degrees = field("Pipeline parallel", "Stages.")
    ep: Degrees = field("Expert parallel", "Shards of the experts.")
    microbatches: int = field("Microbatches", "Microbatches per pipeline and batch.", default=1, ge=1, le=2**53)
    interleaving: int = field("Interleaving", "Groups of layers per stage.", default=1, ge=1, le=2**53)
    schedule: Literal["1F1B", "zero-bubble"] = field("Schedule", "Pipeline schedule.", default="1F1B")

    @model_validator(mode="after")
    def _consistent(self) -> "Strategy":
        levels = {name: len(getattr(self, name)) for name in ("dp", "tp_model", "tp_ff", "pp", "ep")}
        if len(set(levels.values())) > 1:
            raise ValueError(f"dp, tp_model, tp_ff, pp and ep must have one degree per network level, got {levels}")
        if self.schedule == "zero-bubble":
            stages = math.prod(self.pp)
            if self.interleaving != 1 or self.microbatches < 2 * stages:
                raise ValueError(
                    f"the zero-bubble schedule needs interleaving 1 and at least 2 · PP = {2 * stages} microbatches, "
                    f"got interleaving {self.interleaving} and {self.microbatches} microbatches"
                )
        return self


class Pins(Schema):
    """What of a strategy is given; the fastest of the rest is searched for."""

    dp: int | None = field("DP", "Copies of the model. Empty: the fastest.", default=None, ge=1, le=MOST_ASKED)
    tp: int | None = field(
        "TP",
        "Shards of each weight matrix, along d_model and d_ff. Empty: the fastest.",
        default=None,
        ge=1,
        le=MOST_ASKED,
    )
    pp: int | None = field("PP", "Pipeline stages. Empty: the fastest.", default=None, ge=1, le=MOST_ASKED)
    ep: int | None = field("EP", "Shards of the experts. Empty: the fastest.", default=None, ge=1, le=MOST_ASKED)
    microbatches: int | None = field(
        "Microbatches", "Microbatches per pipeline and batch. Empty: the fastest.", default=None, ge=1, le=MOST_ASKED
    )
    interleaving: int | None = field(
        "Interleaving", "Groups of layers per stage, under 1F1B. Empty: the fastest.", default=None, ge=1, le=MOST_ASKED
    )
    schedule: Literal["fastest", "1F1B", "zero-bubble"] = field("Schedule", "Pipeline schedule.", default="fastest")


def error_messages(error: ValidationError) -> dict[str, str]:
    """What is wrong with each refused field, by its dotted path, with the value it got."""
    return {
        ".".join(str(part) for part in detail["loc"])
        or "configuration": f"{detail['msg'].removeprefix('Value error, ')}; got {detail['input']!r:.80}"
        for detail in error.errors(include_url=False)
    }
