"""Every analysis on every cell: what none of the sources has."""
