"""Source 003: memorization in recurrent networks (Madsen 2019), its autocomplete models and their connectivity."""
