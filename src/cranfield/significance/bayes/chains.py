"""How well chains of samples agree, and how many independent samples they are worth."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats


def agreement(samples: Floats) -> tuple[Floats, Floats]:
    """Return R-hat and the effective number of samples of each quantity.

    Samples have shape (chains, steps, quantities); each chain is taken as two halves. Source:
    Gelman et al. (2013), Bayesian Data Analysis, sections 11.4 and 11.5, with the sum of Geyer's
    monotone sequence.
    """
    half = samples.shape[1] // 2
    parts = np.concatenate([samples[:, :half], samples[:, -half:]])
    chains, steps, _ = parts.shape
    centred = parts - parts.mean(axis=1, keepdims=True)
    padded = np.fft.rfft(centred, 2 * steps, axis=1)
    covariance = np.fft.irfft(np.abs(padded) ** 2, axis=1)[:, :steps].mean(axis=0) / steps
    within = covariance[0] * steps / (steps - 1)
    total = covariance[0] + parts.mean(axis=1).var(axis=0, ddof=1)
    some = total > 0
    safe, inner = np.where(some, total, 1.0), np.where(within > 0, within, 1.0)
    correlation = 1 - (within - covariance) / safe
    correlation[0] = 1.0
    even = steps // 2 * 2
    pairs = correlation[:even:2] + correlation[1:even:2]
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    kept = np.where(positive, np.minimum.accumulate(pairs, axis=0), 0.0)
    time = np.maximum(2 * kept.sum(axis=0) - 1, 1 / np.log10(chains * steps))
    return (
        np.where(some, np.sqrt(safe / inner), 1.0),
        np.where(some, chains * steps / time, float(chains * steps)),
    )
