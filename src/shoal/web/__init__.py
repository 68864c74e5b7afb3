"""The web page: from a file to a release in a browser, on the user's own machine."""

LOOPBACK = "127.0.0.1"
"""Where only this machine itself can call."""
