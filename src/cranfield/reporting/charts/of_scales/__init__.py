"""Charts of images, scales and orders."""
