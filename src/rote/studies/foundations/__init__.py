"""Source 004: recurrent networks from the ground up, a lecture, and the simulations of Elman 1990 that it shows."""
