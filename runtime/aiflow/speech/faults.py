"""What keeps a voice from speaking; the resource makes an error of it that names itself."""

from __future__ import annotations


class SpeechFault(Exception):
    """An engine made no sound, or a sound could not be played; its text is one clause."""


class NotInstalledFault(SpeechFault):
    """What would be needed is not on this machine; the clause says how to install it."""
