"""Shards: partitions of the documents, drawn or given, and runs judged by them."""
