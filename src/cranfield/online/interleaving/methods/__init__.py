"""The methods of interleaving and multileaving."""
