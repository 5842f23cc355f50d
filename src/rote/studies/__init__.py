"""One package per source; ``rote.laboratory.studies`` finds what is registered here."""

__all__: list[str] = []
