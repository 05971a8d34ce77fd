"""Testing the tests: what they say on other topics, and where there is nothing to say."""
