"""Transport: bytes over HTTP; the only room that imports httpx.

Time-outs, closing and clear errors live here; what the bytes mean belongs to
`providers.dialects`. Imported by providers, and by programs that serve or record.
"""
