"""Tools: Python functions, HTTP calls and MCP servers that a model may ask for, and sets of them.

No operator lives here, and nothing that asks a model. Operators, and whoever loads a file of
tools, may import it; what runs on this machine is never named by a graph alone (see `offered`).
"""
