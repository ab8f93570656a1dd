"""What hardware costs, and the power it takes."""

from typing import TYPE_CHECKING

from model.arrays import Numbers
from model.configuration import Configuration, Gpu

if TYPE_CHECKING:
    import pandas as pd

UNKNOWN = float("nan")


def capital_cost_usd(gpu: Gpu, n_gpus: Numbers) -> Numbers:
    """Price of the GPUs alone, without network, buildings and power.

    Parameters
    ----------
    gpu : Gpu
    n_gpus : int or array_like
        Number of GPUs.

    Returns
    -------
    float or array_like
        US$; NaN if the GPU's price is not known.

    Examples
    --------
    >>> from model import load_hardware
    >>> f"{capital_cost_usd(load_hardware()['GTX 580 3GB'].gpu, 2**24):.2g}"
    '5e+09'
    """
    return n_gpus * (UNKNOWN if gpu.price_usd is None else gpu.price_usd)


def cluster_power_w(gpu: Gpu, n_gpus: Numbers) -> Numbers:
    """Power of the GPUs alone, each at its board power, without servers, network and cooling.

    Board power is the most that a GPU takes for long; one that waits takes less, so the average is below this.

    Parameters
    ----------
    gpu : Gpu
    n_gpus : int or array_like
        Number of GPUs.

    Returns
    -------
    float or array_like
        W; NaN if the GPU's power is not known.

    Examples
    --------
    >>> from model import load_hardware
    >>> f"{cluster_power_w(load_hardware()['GTX 580 3GB'].gpu, 2**24):.2g}"
    '4.1e+09'
    """
    return n_gpus * (UNKNOWN if gpu.power_w is None else gpu.power_w)


def cluster_costs(configuration: Configuration, frame: "pd.DataFrame") -> "pd.DataFrame":
    """What each training run's cluster costs, and the energy of the run.

    Parameters
    ----------
    configuration : Configuration
        The one whose rows these are.
    frame : DataFrame
        Rows of `simulate` or `evaluate`.

    Returns
    -------
    DataFrame
        With the index of `frame`, of the GPUs alone: capital_cost_usd, to buy them; power_w, the average over the run,
        taken as board power, which is more than GPUs take while they wait; energy_j, of the whole run. NaN where the
        price or the power is not known. Network, servers, cooling, buildings and spares are left out, so that a cluster
        costs more.

    Examples
    --------
    >>> from model import load_presets, simulate
    >>> h100 = load_presets()["GPU generations, dense"].configurations[0]
    >>> costs = cluster_costs(h100, simulate(h100)).iloc[0]
    >>> f"${costs.capital_cost_usd:.1e}, {costs.power_w:.1e} W, {costs.energy_j:.1e} J"
    '$6.1e+07, 1.4e+06 W, 6.5e+12 J'
    """
    import pandas as pd

    n_gpus, training_s = (frame[name].to_numpy() for name in ("n_gpus", "training_s"))
    power_w = cluster_power_w(configuration.gpu, n_gpus)
    return pd.DataFrame(
        {
            "capital_cost_usd": capital_cost_usd(configuration.gpu, n_gpus),
            "power_w": power_w,
            "energy_j": power_w * training_s,
        },
        index=frame.index,
    )
