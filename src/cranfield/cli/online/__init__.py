"""Commands of `cranfield online`."""
