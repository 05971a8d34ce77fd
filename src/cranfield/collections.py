"""Collections that come with the package."""
