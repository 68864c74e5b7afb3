"""The kinds of columns: what values one can have, how they are generalized, written and read."""
