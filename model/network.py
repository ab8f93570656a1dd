"""The network hierarchy: which GPUs a level joins, and what a message costs on it (spec section 3).

Bandwidths count reads and writes together, so a byte that is sent occupies two bytes of bandwidth.
"""

from functools import lru_cache

from model.arrays import Numbers
from model.configuration import NetworkLevel
from model.integers import divisors


def all_reduce(
    level: NetworkLevel,
    participants: Numbers,
    words: Numbers,
    sequential: Numbers,
    parallel: Numbers,
    n_gpus: Numbers,
    word_bytes: float,
) -> tuple[Numbers, Numbers]:
    """Bandwidth time and latency time (s) of ring all-reduces at one level.

    `sequential` of them one after the other, `parallel` at once, of `words` words each, spread over `n_gpus`.
    """
    sent = 2 * (participants - 1) * words * sequential * parallel * word_bytes
    return sent / (n_gpus * level.bandwidth / 2), 2 * sequential * level.latency_s * (participants > 1)


def point_to_point(
    level: NetworkLevel, words: Numbers, sequential: Numbers, parallel: Numbers, n_gpus: Numbers, word_bytes: float
) -> tuple[Numbers, Numbers]:
    """Bandwidth time and latency time (s) of messages at one level."""
    sent = words * sequential * parallel * word_bytes
    return sent / (n_gpus * level.bandwidth / 2), sequential * level.latency_s


def largest_divisor(n: int, limit: int) -> int:
    """The largest divisor of n that does not exceed `limit`."""
    odd = n // (n & -n)
    most_twos = (n & -n).bit_length() - 1
    return max(d << min(most_twos, (limit // d).bit_length() - 1) for d in divisors(odd) if d <= limit)


@lru_cache(maxsize=4096)
def joined(n_gpus: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """How many units each inner level joins in a cluster of `n_gpus`; the outermost level joins the rest."""
    units = []
    for size in sizes:
        units.append(largest_divisor(n_gpus, size))
        n_gpus //= units[-1]
    return tuple(units)
