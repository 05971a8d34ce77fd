"""What a run says of itself: ir_metadata, in a header or in a file beside the run."""
