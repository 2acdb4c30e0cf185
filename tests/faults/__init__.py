"""The fault laboratory: a real store is hurt while it is used, and every answer is checked."""
