"""Output: what sinks have received, as text, one page a sink.

A panel; imports no other panel.
"""
