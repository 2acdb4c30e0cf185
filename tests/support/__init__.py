"""What tests of several rooms share: corpora, servers, clocks, oracles."""
