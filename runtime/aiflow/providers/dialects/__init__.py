"""Dialects: one wire format a file, bytes in and payloads out, without any I/O.

A dialect never imports another one, nor transport. Found by entry point `aiflow.dialects`.
"""
