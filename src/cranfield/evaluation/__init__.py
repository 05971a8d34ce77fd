"""From runs and judgments to scores: whole, by shard, of sessions, of answers, or from files."""
