"""Agreement of assessors, with confidence intervals over topics."""
