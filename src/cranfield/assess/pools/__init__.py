"""Pools of retrieved documents, pooling methods, and the next documents to judge."""
