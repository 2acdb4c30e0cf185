"""Errors as one sentence for people: what went wrong, and where."""

import click


def sentence_of(error: BaseException) -> str:
    """Write an error as one sentence.

    Examples
    --------
    >>> sentence_of(FileNotFoundError(2, "No such file or directory", "a.jsonl"))
    'a.jsonl: no such file or directory'
    >>> sentence_of(MemoryError())
    'the memory is used up: fewer --workers need less'
    """
    if isinstance(error, MemoryError):
        return "the memory is used up: fewer --workers need less"
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error) or type(error).__name__
    reason = error.strerror[:1].lower() + error.strerror[1:]
    places = [place for place in (error.filename, error.filename2) if place is not None]
    return ": ".join([" and ".join(map(str, places)), reason]) if places else reason


def usage_sentence(error: click.ClickException) -> str:
    """Write what click says of wrong usage in the style of all other errors, with where to read on."""
    text = " ".join(error.format_message().split()).rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    more = f"; see {context.command_path} --help" if context is not None else ""
    return f"{text[:1].lower()}{text[1:]}{more}"
