"""Local documents and the index they are found by.

A room of its own below the operators, because a resource and three operators share it and
none of it knows events, graphs or the network.
"""
