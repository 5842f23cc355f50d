"""Source 001: gradient descent resists compositionality."""
