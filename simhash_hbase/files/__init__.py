"""Files: where bytes lie, on this machine or in a remote store, and errors that name the place."""
