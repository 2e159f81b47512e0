"""Providers: an endpoint and its credential, joined with a dialect; what a model can do, as data.

Wire formats are in `dialects`, sockets in `transport`. Imported by operators and above.
"""
