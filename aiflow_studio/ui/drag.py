"""What a drag carries from one panel to another: panels may not import one another."""

from __future__ import annotations

#: An operator's id in UTF-8, dragged out of the palette and dropped on the canvas.
OPERATOR_MIME = "application/x-aiflow-operator"
