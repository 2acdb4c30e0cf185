"""Features: turns texts into weighted features, such as words, and these into fingerprints; makes sketches."""
