"""What the page can be asked besides the configurations: quantities that no curve depends on."""

from typing import TYPE_CHECKING

from model.configuration import MAX_D_MODEL, MOST_ASKED, Configuration, Pins, Schema, field
from model.limits import kernel_and_network_s
from model.step import SECONDS_PER_YEAR

if TYPE_CHECKING:
    import pandas as pd


class LatencyWallQuestion(Schema):
    """The latency wall in closed form ("Data movement bottlenecks to large-scale model training", Epoch AI 2024)."""

    training_months: float = field("Training time", "Of the run.", unit="months", default=3, ge=1e-12, le=1200)
    batch_tokens: float = field("Batch", "Tokens per gradient step.", unit="tokens", default=4e6, ge=1, le=1e15)
    n_layers: float = field("Layers", "That follow one another in a step.", default=120, ge=1, le=10**6)
    latency_s: float = field(
        "Latency", "Of a matmul and the communication after it.", unit="s", shown="µs", default=9e-6, ge=1e-12, le=10
    )
    tokens_per_parameter: float = field(
        "Tokens per parameter", "That the model is trained on; 20 is compute-optimal.", default=20, ge=1e-6, le=1e6
    )

    @property
    def quantities(self) -> dict[str, float]:
        """The arguments of `latency_wall`."""
        training_s = self.training_months / 12 * SECONDS_PER_YEAR
        return {"training_s": training_s, **self.model_dump(exclude={"training_months"})}


def latency_wall_values(configuration: Configuration, row: "pd.Series") -> dict[str, float]:
    """What a `LatencyWallQuestion` would take of a configuration and a row of its `simulate` frame.

    Its training time, the row's batch, layers and tokens; the latency is 0 if nothing has any, which has no wall.
    """
    return {
        "training_months": configuration.assumptions.training_months,
        "batch_tokens": float(row["batch_tokens"]),
        "n_layers": float(row["n_layers"]),
        "latency_s": kernel_and_network_s(configuration.gpu, configuration.network),
        "tokens_per_parameter": row["dataset_tokens"] / row["params"],
    }


class CriticalComputeQuestion(Schema):
    """The bandwidth wall in closed form (Erdil & Schneider-Joseph 2024, arXiv:2411.01137)."""

    exponent_difference: float = field(
        "α, batch against depth",
        "By how much faster the batch grows with training compute than the depth, as exponents.",
        default=0,
        ge=-1,
        le=0.4,
    )


class GrowthQuestion(Schema):
    """When the largest runs reach a limit, if they go on growing (5 × 10²⁵ FLOP in 2024, 4–5× a year: Epoch AI)."""

    start_flop: float = field("Largest run", "At the start.", unit="FLOP", default=5e25, ge=1e12, le=1e36)
    start_year: float = field("Start", "Year of that run.", unit="year", default=2024, ge=1950, le=2200)
    slow_growth: float = field("Slow growth", "Of the largest run, times a year.", default=4, ge=1.01, le=1000)
    fast_growth: float = field("Fast growth", "Of the largest run, times a year.", default=5, ge=1.01, le=1000)


class StrategyQuestion(Pins):
    """A model, a cluster and what of its strategy is given; what is empty is that of the selected point."""

    d_model: int | None = field("d_model", "Width. Empty: the selected point's.", default=None, ge=1, le=MAX_D_MODEL)
    n_layers: int | None = field("Layers", "Empty: those of the width, by the law.", default=None, ge=1, le=2**20)
    batch_tokens: int | None = field(
        "Batch",
        "Tokens per gradient step. Empty: that of the model, by the law.",
        unit="tokens",
        default=None,
        ge=1,
        le=MOST_ASKED,
    )
    n_gpus: int | None = field(
        "GPUs", "Of the cluster. Empty: the selected point's.", default=None, ge=1, le=MOST_ASKED
    )


class Questions(Schema):
    """Everything that the page can be asked besides the configurations, with the articles' values as defaults."""

    latency_wall: LatencyWallQuestion = field("Latency wall", "In closed form.", default=LatencyWallQuestion())
    critical_compute: CriticalComputeQuestion = field(
        "Critical compute", "In closed form.", default=CriticalComputeQuestion()
    )
    growth: GrowthQuestion = field("Growth", "Of the largest training runs.", default=GrowthQuestion())
    strategy: StrategyQuestion = field("Strategy", "One strategy beside the best.", default=StrategyQuestion())
