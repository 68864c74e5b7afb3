"""Methods from the literature to compare with; each says whose it is."""
