"""Metadata of runs (ir_metadata), in a header or in a separate file."""
