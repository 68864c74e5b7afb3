"""What every room uses: random choices, lists of lists, HTML for notebooks."""
