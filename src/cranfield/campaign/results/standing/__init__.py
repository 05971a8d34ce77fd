"""Where a run stands: against the best, the median and a baseline."""
