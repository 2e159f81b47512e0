"""The canvas drawn with NodeGraphQt; no other folder imports it.

A projection: it shows the document and reports intents, and changes nothing by itself.
Only the composition root picks it.
"""
