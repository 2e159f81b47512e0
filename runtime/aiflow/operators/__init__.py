"""Operators: what an operator is, what it is handed, and which ones this process knows.

Never imports graph or engine. Built-ins are in `builtin` and come by entry point as plug-ins do.
"""
