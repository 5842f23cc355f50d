"""The court: do explanation methods find what a network uses? Networks whose working is known."""
