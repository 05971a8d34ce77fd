"""The online measures, each by its formula."""
