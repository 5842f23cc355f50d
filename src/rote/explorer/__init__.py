"""The explorer: a local web application in which one types, hovers and compares what recurrent networks remember."""

__all__: list[str] = []
