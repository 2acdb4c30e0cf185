"""The one error of this package."""


class ProvisionError(Exception):
    """The server cannot be had; the text is one sentence for people, then perhaps lines of a log."""
