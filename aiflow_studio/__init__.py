"""AiFlow Studio, the Qt application around `aiflow`: draw a graph, run it, watch it."""

__version__ = "0.1.0"
