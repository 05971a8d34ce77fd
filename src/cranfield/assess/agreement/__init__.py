"""Agreement of assessors, with intervals over topics."""
