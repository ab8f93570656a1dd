"""What hardware costs."""

from model.configuration import Gpu


def capital_cost_usd(gpu: Gpu, n_gpus):
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
    return n_gpus * (float("nan") if gpu.price_usd is None else gpu.price_usd)
