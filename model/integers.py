"""Divisors and powers of two, in tables small enough to keep."""

import math
from functools import lru_cache

import numpy as np

from model.arrays import Floats, Integers

MAX_EXPONENT = 62  # of a degree: clusters stay below 2^63 GPUs
POWERS_OF_TWO = 2.0 ** np.arange(MAX_EXPONENT + 1)


def twos(n: Integers) -> Integers:
    """How often 2 divides each positive integer of an array."""
    count: Integers = np.log2(n & -n).astype(np.int64)
    return count


def odd_part(n: Integers) -> Integers:
    """What is left of each positive integer of an array without its twos."""
    return n // (n & -n)


@lru_cache(maxsize=4096)
def divisors(n: int) -> tuple[int, ...]:
    """All divisors of n, ascending."""
    found = [1]
    prime = 1
    while n > 1:
        prime = _least_factor(n, prime + 1)
        powers = [1]
        while n % prime == 0:
            n //= prime
            powers.append(powers[-1] * prime)
        found = [divisor * power for divisor in found for power in powers]
    return tuple(sorted(found))


def _least_factor(n: int, start: int) -> int:
    """The least factor of n, above 1, if no number below `start` divides it."""
    most, count = math.isqrt(n), 64
    while start <= most:
        tried = np.arange(start, min(start + count, most + 1))
        dividing = tried[n % tried == 0]
        if len(dividing):
            return int(dividing[0])
        start, count = start + count, min(4 * count, 2**16)
    return n


@lru_cache(maxsize=256)
def first_divisors(odd: int, count: int, max_twos: int, max_floor: int) -> Floats:
    """The least divisors of odd · 2^v that are at least 2^p, for every v <= max_twos and p <= max_floor.

    Returns
    -------
    ndarray of float, shape (max_twos + 1, max_floor + 1, count)
        Ascending along the last axis; infinite where there are fewer than `count`.
    """
    v = np.arange(max_twos + 1)[:, None, None, None]
    p = np.arange(max_floor + 1)[None, :, None, None]
    odds = np.array(divisors(odd), dtype=float)[None, None, :, None]
    first = np.maximum(0, np.ceil(p - np.log2(odds)))
    exponent = first + np.arange(count)
    candidates = np.where(exponent <= v, odds * 2.0**exponent, np.inf)
    return np.sort(candidates.reshape(max_twos + 1, max_floor + 1, -1), axis=-1)[..., :count]
