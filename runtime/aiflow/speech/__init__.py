"""Speech: text made into sound by an engine, and sound paced by playing it.

Here are engines, players and the resource `speech-engine` that joins one of each. Not here: the
operator `speech` and its simulated pace. Imported by operators and whatever is above them.
"""
