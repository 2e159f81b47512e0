"""AiFlow's headless library: graphs of streaming operators, compiled and run with bounded queues.

Each room below answers one question; none of them imports Qt.
"""
