"""A whole module taken apart: its forward pass is followed once, and what it did becomes stages of cells."""
