"""One ranking made of several: by ranks, by scores, by votes."""
