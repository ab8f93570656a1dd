"""The schema refuses what it should, says where and what, and carries every configuration through JSON."""

import copy
import json
import math
import types
from collections.abc import Iterator
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
from annotated_types import Ge, Gt, Le, Lt
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from model import configuration as schema
from model.configuration import Configuration, Gpu, NetworkLevel, Schema, Strategy, Sweep, error_messages
from model.presets import load_hardware, load_presets

GPU = {
    "name": "Chip",
    "flop_per_clock_per_thread": {"32": 2, "16": 32},
    "precision_bits": 16,
    "register_bytes_per_block": 65536,
    "sm_count": 132,
    "l2_bandwidth": 6.441e12,
    "l2_bytes": 52428800,
    "hbm_bandwidth": 3.352e12,
    "hbm_bytes": 8e10,
    "max_clock_hz": 1.83e9,
    "effective_utilization": 0.7,
    "distributed_shared_memory": True,
    "matmul_latency_s": 4.5e-6,
}
INNER = {"name": "Node", "bandwidth": 9e11, "latency_s": 1e-6, "size": 8}
OUTER = {"name": "Cluster", "bandwidth": 1e11, "latency_s": 1e-6}
CONFIGURATION = {"name": "C", "gpu": GPU, "network": [INNER, OUTER]}

# One valid document of every class; a new class or a new required field must be added here.
EXAMPLES: dict[type[Schema], dict[str, Any]] = {
    schema.Gpu: GPU,
    schema.NetworkLevel: INNER,
    schema.ChinchillaDataset: {"law": "chinchilla"},
    schema.PowerDataset: {"law": "power", "coefficient": 20, "exponent": 1},
    schema.HoffmannDepth: {"law": "hoffmann"},
    schema.PowerDepth: {"law": "power", "coefficient": 0.1, "exponent": 0.4},
    schema.FixedDepth: {"law": "fixed", "n_layers": 100},
    schema.DenseSparsity: {"law": "dense"},
    schema.LinearWidthSparsity: {"law": "linear-width"},
    schema.FixedSparsity: {"law": "fixed", "factor": 8},
    schema.DefaultBatch: {"law": "default"},
    schema.ConstantBatch: {"law": "constant"},
    schema.DeepSeekBatch: {"law": "deepseek"},
    schema.ZhangBatch: {"law": "zhang"},
    schema.PowerBatch: {"law": "power", "tokens_at_reference": 4e6, "reference_flop": 3e23, "exponent": 0.2},
    schema.ScalingLaws: {},
    schema.Assumptions: {},
    schema.Sweep: {},
    schema.Configuration: CONFIGURATION,
    schema.Hardware: {"gpu": GPU, "network": [INNER, OUTER]},
    schema.Preset: {"title": "T", "description": "", "source": "", "configurations": [CONFIGURATION]},
    schema.Shape: {"d_model": 4096, "d_ff": 16384, "n_layers": 100, "batch_tokens": 4096},
    schema.Pins: {},
    schema.Strategy: {"dp": [2, 1], "tp_model": [1, 1], "tp_ff": [4, 1], "pp": [1, 4], "ep": [1, 1]},
}
LAWS = {
    "dataset": (schema.ChinchillaDataset, schema.PowerDataset),
    "depth": (schema.HoffmannDepth, schema.PowerDepth, schema.FixedDepth),
    "sparsity": (schema.DenseSparsity, schema.LinearWidthSparsity, schema.FixedSparsity),
    "batch": (
        schema.DefaultBatch,
        schema.ConstantBatch,
        schema.DeepSeekBatch,
        schema.ZhangBatch,
        schema.PowerBatch,
    ),
}
# Numbers that need not have both bounds, and why.
UNBOUNDED = {
    (Gpu, "precision_bits"),  # must be a key of flop_per_clock_per_thread, which is bounded
    (NetworkLevel, "bandwidth"),  # may be infinite
}

Path = tuple[str | int, ...]
Number = tuple[Path, type, list[Any]]


def numbers(annotation: Any, metadata: list[Any], path: Path) -> Iterator[Number]:
    """Path, int or float, and bounds of each number a field holds, also within a tuple or as a value of a dict."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in (int, float):
        yield path, annotation, [bound for bound in metadata if isinstance(bound, Ge | Gt | Le | Lt)]
    elif origin is Annotated:
        own = [item for each in arguments[1:] for item in (each.metadata if isinstance(each, FieldInfo) else [each])]
        yield from numbers(arguments[0], own, path)
    elif origin in (Union, types.UnionType):
        for argument in arguments:
            yield from numbers(argument, metadata, path)
    elif origin is tuple:
        yield from numbers(arguments[0], [], (*path, 0))
    elif origin is dict:
        yield from numbers(arguments[1], [], (*path, "16"))


NUMBERS = [
    (model, *number)
    for model in EXAMPLES
    for name, info in model.model_fields.items()
    for number in numbers(info.annotation, info.metadata, (name,))
]
FIELDS = [(model, name) for model in EXAMPLES for name in model.model_fields]


def just_outside(bound: Any, kind: type) -> float:
    match bound:
        case Gt(limit) | Lt(limit):
            return limit
        case Ge(limit):
            return limit - 1 if kind is int else math.nextafter(limit, -math.inf)
        case Le(limit):
            return limit + 1 if kind is int else math.nextafter(limit, math.inf)


def changed(document: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    document = copy.deepcopy(document)
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return document


def dotted(path: Path) -> str:
    return ".".join(map(str, path))


def refusals(model: type[Schema], document: Any) -> dict[str, str]:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(document)
    return error_messages(caught.value)


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def label(value: Any) -> str | None:
    if isinstance(value, type):
        return value.__name__
    return dotted(value) if isinstance(value, tuple) else None


def test_every_class_of_the_schema_has_an_example():
    classes = {each for each in Schema.__subclasses__() if each.__module__ == schema.__name__}
    assert set(EXAMPLES) == classes, "a class of the schema is not covered by the tests below"


@pytest.mark.parametrize("model", EXAMPLES, ids=label)
class TestEveryClass:
    def test_example_is_accepted_as_mapping_and_as_text(self, model):
        example = EXAMPLES[model]
        text = json.dumps(example)
        assert model.model_validate(example) == model.model_validate_json(text), "Python and JSON are read differently"

    def test_unknown_field_is_refused(self, model):
        messages = refusals(model, EXAMPLES[model] | {"colour": "red"})
        assert list(messages) == ["colour"], "a misspelt field would be ignored without a word"
        assert "'red'" in messages["colour"], "the message does not show what it got"

    @pytest.mark.parametrize("text", ["", "{", "{'name': 1}", '{"name": }', "[", "NaN"])
    def test_bad_json_is_refused(self, model, text):
        with pytest.raises(ValidationError) as caught:
            model.model_validate_json(text)
        messages = error_messages(caught.value)
        assert list(messages) == ["configuration"], "the whole document is wrong, not a field"
        assert f"got {text!r}" in messages["configuration"] or "got nan" in messages["configuration"]

    @pytest.mark.parametrize("document", [None, 3, "text", [], [1]], ids=repr)
    def test_what_is_no_object_is_refused(self, model, document):
        assert repr(document) in refusals(model, document)["configuration"], "the message does not show what it got"

    def test_required_field_left_out_is_named(self, model):
        required = {name for name, info in model.model_fields.items() if info.is_required()}
        for name in required:
            messages = refusals(model, {key: value for key, value in EXAMPLES[model].items() if key != name})
            assert list(messages) == [name], "the message is not at the field that is missing"
            assert "required" in messages[name]
        assert required <= set(EXAMPLES[model]), "an optional field is called required"

    def test_cannot_be_assigned_to(self, model):
        instance = model.model_validate(EXAMPLES[model])
        for name in model.model_fields:
            with pytest.raises(ValidationError, match="frozen"):
                setattr(instance, name, getattr(instance, name))


@pytest.mark.parametrize(("model", "name"), FIELDS, ids=label)
def test_wrong_type_is_refused_at_the_field(model, name):
    messages = refusals(model, EXAMPLES[model] | {name: {"wrong": "wrong"}})
    at_field = [f"{key}: {message}" for key, message in messages.items() if key == name or key.startswith(f"{name}.")]
    assert any("wrong" in message for message in at_field), "no message at the field shows what it got"


@pytest.mark.parametrize(("model", "path", "kind", "bounds"), NUMBERS, ids=label)
class TestEveryNumber:
    def test_has_two_bounds(self, model, path, kind, bounds):
        lower = any(isinstance(bound, Ge | Gt) for bound in bounds)
        upper = any(isinstance(bound, Le | Lt) for bound in bounds)
        assert (lower and upper) or (model, path[0]) in UNBOUNDED, "a number without bounds can overflow the model"

    def test_just_outside_each_bound_is_refused(self, model, path, kind, bounds):
        for bound in bounds:
            value = just_outside(bound, kind)
            messages = refusals(model, changed(EXAMPLES[model], path, value))
            assert dotted(path) in messages, f"{value!r} passes {bound}, or is refused elsewhere"
            assert f"got {value!r}" in messages[dotted(path)], "the message does not show what it got"

    def test_no_number_is_refused(self, model, path, kind, bounds):
        wrong = ["16", True, [16], 16 + 0j, math.nan, -math.inf]
        if (model, path[0]) != (NetworkLevel, "bandwidth"):
            wrong.append(math.inf)
        if kind is int:
            wrong += [16.0, 16.5]
        for value in wrong:
            messages = refusals(model, changed(EXAMPLES[model], path, value))
            assert dotted(path) in messages, f"{value!r} is taken for a number, or is refused elsewhere"
            assert f"got {value!r}" in messages[dotted(path)], "the message does not show what it got"


class TestConfiguration:
    @pytest.mark.parametrize(
        ("path", "value", "key", "said"),
        [
            (("network",), [], "network", ["at least 1", "not 0"]),
            (("network",), [INNER] * 4 + [OUTER], "network", ["at most 4", "not 5"]),
            (("network",), [INNER, OUTER | {"size": 77}], "network", ["network.1.size", "77", "outermost"]),
            (("network",), [INNER], "network", ["network.0.size", "8", "outermost"]),
            (("network",), [OUTER, OUTER], "network", ["network.0.size", "missing"]),
            (("network", 0, "size"), None, "network", ["network.0.size", "missing"]),
            (("network", 1, "latency_s"), -1, "network.1.latency_s", ["got -1"]),
            (("gpu", "precision_bits"), 8, "gpu.precision_bits", ["32, 16", "got 8"]),
            (("gpu", "flop_per_clock_per_thread"), {"32": 2}, "gpu.precision_bits", ["32", "got 16"]),
            (("gpu", "flop_per_clock_per_thread"), {}, "gpu.flop_per_clock_per_thread", ["at least 1", "got {}"]),
            (("gpu", "guesses"), ["sm_count", "colour"], "gpu.guesses", ["colour", "got"]),
            (("gpu", "sm_count"), 0, "gpu.sm_count", ["got 0"]),
            (("sweep",), {"d_model_min": 4096, "d_model_max": 2048}, "sweep.d_model_max", ["4,096", "got 2048"]),
            (("sweep",), {"d_model_max": 2048}, "sweep.d_model_max", ["12,288", "got 2048"]),
            (("scaling",), {"batch": {"law": "constant", "tokens": 0}}, "scaling.batch.constant.tokens", ["got 0"]),
            (("scaling",), {"batch": {}}, "scaling.batch", ["law", "got {}"]),
            (("scaling",), {"depth": {"law": "hoffmann", "n_layers": 9}}, "scaling.depth.hoffmann.n_layers", ["got 9"]),
            (("assumptions",), {"activations": "kept"}, "assumptions.activations", ["recomputed", "got 'kept'"]),
            (("name",), "", "name", ["at least 1", "got ''"]),
            (("name",), "x" * 81, "name", ["at most 80", "got 'xxx"]),
            (("name",), " \t ", "name", ["at least 1"]),
        ],
    )
    def test_bad_value_is_refused_at_its_dotted_path(self, path, value, key, said):
        messages = refusals(Configuration, changed(CONFIGURATION, path, value))
        assert list(messages) == [key], "the message is not at the field that is wrong"
        for words in said:
            assert words in messages[key], "the message lacks the field, the limit or what it got"

    @pytest.mark.parametrize("quantity", LAWS)
    def test_unknown_law_is_refused_with_the_known_ones(self, quantity):
        messages = refusals(Configuration, CONFIGURATION | {"scaling": {quantity: {"law": "moore"}}})
        assert list(messages) == [f"scaling.{quantity}"]
        message = messages[f"scaling.{quantity}"]
        known = [model.model_fields["law"].annotation.__args__[0] for model in LAWS[quantity]]
        assert all(f"'{law}'" in message for law in ["moore", *known]), "the reader cannot see which laws there are"

    @pytest.mark.parametrize("bits", [0, -1, 129, 16.5, "half", "", None], ids=repr)
    def test_impossible_precision_is_refused(self, bits):
        messages = refusals(Gpu, GPU | {"flop_per_clock_per_thread": {bits: 1}})
        key = f"flop_per_clock_per_thread.{bits}.[key]"
        assert repr(bits) in messages[key], "the message does not show the precision it got"

    def test_every_wrong_field_is_named_at_once(self):
        document = changed(CONFIGURATION, ("gpu", "sm_count"), 0) | {"name": "", "sweep": {"d_model_min": 0}}
        assert set(refusals(Configuration, document)) == {"gpu.sm_count", "name", "sweep.d_model_min"}

    def test_network_whose_search_would_take_minutes_is_refused_with_the_reason_and_the_fix(self):
        network = [INNER | {"size": 4096}] * 3 + [OUTER]
        (message,) = refusals(Configuration, CONFIGURATION | {"network": network}).values()
        assert "4096 × 4096 × 4096, give 2197 ways" in message, "the message lacks the reason"
        assert "make the largest smaller" in message, "the message lacks the fix"

    def test_networks_of_one_to_four_levels_are_accepted(self):
        for inner in range(4):
            network = Configuration.model_validate(CONFIGURATION | {"network": [INNER] * inner + [OUTER]}).network
            assert len(network) == inner + 1

    def test_every_gpu_field_and_the_network_may_be_called_a_guess(self):
        names = [*Gpu.model_fields, "network"]
        assert Gpu.model_validate(GPU | {"guesses": names}).guesses == tuple(names)

    def test_single_width_is_a_sweep(self):
        sweep = Sweep.model_validate({"d_model_min": 2048, "d_model_max": 2048})
        assert (sweep.d_model_min, sweep.d_model_max) == (2048, 2048)

    def test_defaults_are_those_of_the_specification(self):
        configuration = Configuration.model_validate(CONFIGURATION)
        assert configuration.scaling.model_dump() == {
            "d_ff_ratio": 4,
            "sequence_length": 2048,
            "dataset": {"law": "chinchilla", "tokens_per_parameter": 20},
            "depth": {"law": "hoffmann"},
            "sparsity": {"law": "dense"},
            "batch": {"law": "default"},
            "depth_multiplier": 1,
            "batch_multiplier": 1,
        }
        assert configuration.assumptions.model_dump() == {
            "training_months": 3,
            "overlap_tp": True,
            "overlap_pp": True,
            "overlap_dp": False,
            "zero_bubble": True,
            "interleaving": True,
            "activations": "ignored",
        }
        assert configuration.sweep.model_dump() == {
            "d_model_min": 12288,
            "d_model_max": 12288 * 128,
            "d_model_multiple": 2048,
        }
        assert schema.ConstantBatch(law="constant").tokens == 2**22


def test_blanks_around_a_name_do_not_make_it_another():
    assert Configuration.model_validate(CONFIGURATION | {"name": " H100\n"}).name == "H100"


class TestInfinity:
    @pytest.mark.parametrize("value", [math.inf, "Infinity", "inf"])
    def test_infinite_bandwidth_is_accepted(self, value):
        assert NetworkLevel.model_validate(INNER | {"bandwidth": value}).bandwidth == math.inf

    @pytest.mark.parametrize("value", [1e22, 1e300])
    def test_a_finite_bandwidth_beyond_all_bounds_is_refused(self, value):
        assert refusals(NetworkLevel, INNER | {"bandwidth": value})["bandwidth"].startswith("should be at most 1e+21")

    @pytest.mark.parametrize("value", ["-Infinity", "NaN", "infinite", "1e9"])
    def test_other_text_is_no_bandwidth(self, value):
        assert f"got {value!r}" in refusals(NetworkLevel, INNER | {"bandwidth": value})["bandwidth"]

    @pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
    def test_json_constants_are_no_latency(self, constant):
        text = json.dumps(INNER).replace("1e-06", constant)
        with pytest.raises(ValidationError) as caught:
            NetworkLevel.model_validate_json(text)
        assert "finite number" in error_messages(caught.value)["latency_s"]


def configurations() -> dict[str, Configuration]:
    """Every preset's, every catalogue entry's, and one for every law and assumption."""
    found = {
        f"{title}: {each.name}": each for title, preset in load_presets().items() for each in preset.configurations
    }
    for name, hardware in load_hardware().items():
        found[name] = Configuration(name=name, gpu=hardware.gpu, network=hardware.network)
    for quantity, models in LAWS.items():
        for model in models:
            document = CONFIGURATION | {"scaling": {quantity: EXAMPLES[model]}}
            found[model.__name__] = Configuration.model_validate(document)
    for activations in ("ignored", "recomputed", "stored"):
        document = CONFIGURATION | {"assumptions": {"activations": activations, "overlap_dp": True}}
        found[activations] = Configuration.model_validate(document)
    return found


class TestRoundTrip:
    @pytest.mark.parametrize("configuration", [pytest.param(each, id=name) for name, each in configurations().items()])
    def test_json_reads_back_as_it_was(self, configuration):
        text = configuration.model_dump_json()
        document = json.loads(text, parse_constant=refuse_constant)
        assert Configuration.model_validate_json(text) == configuration, "what is exported is not what is read"
        assert Configuration.model_validate(document) == configuration, "text and parsed JSON are read differently"
        assert Configuration.model_validate(document).model_dump_json() == text, "a second export differs"

    def test_infinite_bandwidth_is_written_as_text(self):
        infinite = configurations()["H100 SXM Infinite Network, Low Latency"]
        document = json.loads(infinite.model_dump_json(), parse_constant=refuse_constant)
        assert document["network"][0]["bandwidth"] == "Infinity", "not every JSON reader would take the file"


class TestStrategy:
    EXAMPLE = EXAMPLES[Strategy]

    def test_degrees_over_different_numbers_of_levels_are_refused(self):
        message = refusals(Strategy, self.EXAMPLE | {"pp": [1]})["configuration"]
        assert "'pp': 1" in message and "'dp': 2" in message, "the reader cannot see which degree is the odd one"

    @pytest.mark.parametrize("degrees", [[], [1] * 5], ids=len)
    def test_no_levels_or_five_are_refused(self, degrees):
        everywhere = dict.fromkeys(("dp", "tp_model", "tp_ff", "pp", "ep"), degrees)
        assert set(refusals(Strategy, everywhere)) == set(everywhere)

    @pytest.mark.parametrize(("interleaving", "microbatches"), [(1, 7), (2, 8)])
    def test_zero_bubble_without_its_conditions_is_refused(self, interleaving, microbatches):
        chosen = {"schedule": "zero-bubble", "interleaving": interleaving, "microbatches": microbatches}
        message = refusals(Strategy, self.EXAMPLE | chosen)["configuration"]
        for words in ("at least 2 · PP = 8", f"interleaving {interleaving}", f"{microbatches} microbatches"):
            assert words in message, "the reader cannot see what zero-bubble needs or what it got"

    def test_zero_bubble_with_two_microbatches_a_stage_is_accepted(self):
        chosen = {"schedule": "zero-bubble", "interleaving": 1, "microbatches": 8}
        assert Strategy.model_validate(self.EXAMPLE | chosen).microbatches == 8


class TestChangedCopy:
    def test_changes_are_validated_like_any_input(self):
        whole = Configuration.model_validate(CONFIGURATION)
        for update, key in [
            ({"name": 5}, "name"),
            ({"gpu": GPU | {"sm_count": 0}}, "gpu.sm_count"),
            ({"network": []}, "network"),
            ({"unknown": 1}, "unknown"),
        ]:
            with pytest.raises(ValidationError) as refused:
                whole.model_copy(update=update)
            assert list(error_messages(refused.value)) == [key], "a copy holds what no configuration may"

    def test_changes_are_made_and_the_rest_is_kept(self):
        whole = Configuration.model_validate(CONFIGURATION)
        changed_copy = whole.model_copy(update={"assumptions": {"training_months": 6}})
        assert changed_copy.assumptions == whole.assumptions.model_copy(update={"training_months": 6})
        assert changed_copy.model_copy(update={"assumptions": whole.assumptions}) == whole
