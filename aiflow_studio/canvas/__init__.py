"""Canvas: a person's gestures become intents, intents become edits, edits become a picture.

`intents` and `view` are the seam; any canvas library stays behind it, in a folder of its own.
A panel; imports no other panel.
"""
