"""Built-in operators, one a file: its params, its class or function, nothing else.

Siblings never import each other. Registered in runtime/pyproject.toml.
"""
