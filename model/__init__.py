"""How far AI training can scale: the model of Erdil & Schneider-Joseph 2024 (arXiv:2411.01137), and beyond.

Start with `load_presets`, `simulate` and `training_limits`. Everything is a pure function of a `Configuration`.
"""

from model.breakdown import step_breakdown
from model.configuration import (
    Configuration,
    Gpu,
    Hardware,
    NetworkLevel,
    Preset,
    Shape,
    Strategy,
    error_messages,
)
from model.gpu import matmul_time
from model.limits import critical_compute, latency_limit, latency_wall, training_limits
from model.money import capital_cost_usd
from model.presets import load_hardware, load_known_models, load_presets
from model.simulation import evaluate, simulate

__all__ = [
    "Configuration",
    "Gpu",
    "Hardware",
    "NetworkLevel",
    "Preset",
    "Shape",
    "Strategy",
    "capital_cost_usd",
    "critical_compute",
    "error_messages",
    "evaluate",
    "latency_limit",
    "latency_wall",
    "load_hardware",
    "load_known_models",
    "load_presets",
    "matmul_time",
    "simulate",
    "step_breakdown",
    "training_limits",
]
