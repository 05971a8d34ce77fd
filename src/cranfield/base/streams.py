"""Random streams: generators that depend on a seed and a key only."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
from numpy.random import Generator, Philox, SeedSequence, default_rng

from cranfield.base.arrays import Floats
from cranfield.base.errors import check_integer


def make_stream(seed: int, *key: int) -> Generator:
    """Return the random generator of a seed and a key of integers >= 0, such as (study, repeat).

    Different keys give independent numbers, and equal keys the same numbers on any processor, in
    any order of tasks.

    >>> make_stream(7, 50, 0).integers(100, size=3).tolist()
    [95, 90, 90]
    """
    # NumPy also accepts lists, and a deeply nested one crashes the process.
    check_integer("seed", seed, 0)
    for number in key:
        check_integer("each integer of the key", number, 0)
    return default_rng(SeedSequence(seed, spawn_key=key))


def make_named_stream(seed: int, name: str, *key: int) -> Generator:
    """Return the random generator of a seed and a name, such as a topic id, as :func:`make_stream`.

    The random numbers of a topic do not change if other topics are added, as they would if its
    index were the key.

    >>> make_named_stream(7, "401").integers(100, size=3).tolist()
    [79, 95, 17]
    """
    return make_stream(seed, hash_name(name), *key)


def hash_name(name: str) -> int:
    """Hash a name to an integer, for use in a key."""
    digest = sha256(name.encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:16], "big")


def draw_uniforms(seed: int, first_row: int, n_rows: int, width: int, *key: int) -> Floats:
    """Return uniform numbers in [0, 1) for rows from `first_row` on; shape (n_rows, width).

    A row does not depend on the other requested rows, so its numbers are the same however the rows
    are split into batches.

    >>> rows = draw_uniforms(7, 0, 4, 3)
    >>> bool((draw_uniforms(7, 2, 2, 3) == rows[2:]).all())
    True
    """
    n_blocks = -(-width // 4)  # Philox generates blocks of four numbers.
    state = SeedSequence(seed, spawn_key=key).generate_state(2, np.uint64)
    rng = Generator(Philox(key=state).advance(first_row * n_blocks))
    return rng.random((n_rows, 4 * n_blocks))[:, :width]
