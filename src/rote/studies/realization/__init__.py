"""Source 002: on the realization of compositionality in neural networks."""
