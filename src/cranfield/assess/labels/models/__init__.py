"""Models of workers: each takes labels, and says the grades and how good the workers are."""
