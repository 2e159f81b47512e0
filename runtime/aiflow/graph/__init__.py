"""Graph: the document, its pure edits, and its JSON form.

It names operators by string and never imports them, so a graph opens even when a plug-in
is missing. What may be wrong with it is the compiler's question.
"""
