"""On which rows experiments fit, choose and test, and how they compare."""
