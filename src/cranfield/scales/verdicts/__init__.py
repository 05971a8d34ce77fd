"""On which scale a measure is: proofs, enumeration, and the report of both."""
