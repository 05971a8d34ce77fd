"""Teams and runs: handed in, replaced, withdrawn."""
