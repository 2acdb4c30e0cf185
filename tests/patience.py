"""How long tests wait for what has to happen: so long that even a machine at a tenth of its speed gets there."""

END_S = 600.0
