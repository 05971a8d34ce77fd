"""Pools of retrieved documents, orders of judging, and the next documents to judge."""
