"""How far AI training can scale: the model of Erdil & Schneider-Joseph 2024 (arXiv:2411.01137), and beyond.

Start with `load_presets`, `simulate` and `training_limits`. Everything is a pure function of a `Configuration`.
"""

from model.breakdown import matmul_table, step_breakdown
from model.configuration import (
    Configuration,
    Gpu,
    Hardware,
    NetworkLevel,
    Pins,
    Preset,
    Shape,
    Strategy,
    error_messages,
)
from model.gpu import matmul_time
from model.growth import limits_reached, years_reached
from model.limits import (
    critical_compute,
    critical_compute_curves,
    latency_limit,
    latency_wall,
    training_limits,
)
from model.money import capital_cost_usd, cluster_costs
from model.pinned import broken_constraints, fastest_strategy
from model.presets import load_hardware, load_known_models, load_presets, load_published_runs
from model.reality import reality_breakdown, reality_check
from model.scaling import shape_by_laws
from model.sensitivity import attainable, comparable_limits, improvement_map, sensitivities
from model.simulation import evaluate, simulate

__all__ = [
    "Configuration",
    "Gpu",
    "Hardware",
    "NetworkLevel",
    "Pins",
    "Preset",
    "Shape",
    "Strategy",
    "attainable",
    "broken_constraints",
    "capital_cost_usd",
    "cluster_costs",
    "comparable_limits",
    "critical_compute",
    "critical_compute_curves",
    "error_messages",
    "evaluate",
    "fastest_strategy",
    "improvement_map",
    "latency_limit",
    "latency_wall",
    "limits_reached",
    "load_hardware",
    "load_known_models",
    "load_presets",
    "load_published_runs",
    "matmul_table",
    "matmul_time",
    "reality_breakdown",
    "reality_check",
    "sensitivities",
    "shape_by_laws",
    "simulate",
    "step_breakdown",
    "training_limits",
    "years_reached",
]
