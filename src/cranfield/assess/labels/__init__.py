"""What several people, or machines, said of the same documents, and the judgments made of it."""
