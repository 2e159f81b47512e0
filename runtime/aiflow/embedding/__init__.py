"""Embedding: graphs that run inside a program, such as a web server."""
