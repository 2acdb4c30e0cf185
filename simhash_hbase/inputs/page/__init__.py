"""Web pages: their characters, their main text."""
