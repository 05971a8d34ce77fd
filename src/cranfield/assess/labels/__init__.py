"""Labels of the same documents by several people or machines, and judgments made from them."""
