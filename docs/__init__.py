"""The documentation: its pages, and what builds and checks them."""
