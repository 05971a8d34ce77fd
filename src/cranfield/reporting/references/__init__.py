"""The works that definitions come from, and how to cite them."""
