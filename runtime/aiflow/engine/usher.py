"""The usher: opens conversations, leads each from turn to turn, and sees it out.

A turn that follows has lanes of its own at every node, so nothing late of an older turn can
reach it. It opens when the turn before has ended everywhere; after a barge-in at once, while
the older one still ends, but for two things that keep the bound true. Stores are counted once
per conversation, so it waits until the older turn has left every node that keeps events back.
And of one conversation no more than two turns are open: who barges in again and again waits
for the first to end. A source that waits for its next turn is not asked for anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from aiflow.engine import sharing
from aiflow.engine.cancelling import cancel_turn, force_end, stop_sources
from aiflow.engine.cells import Guardian, Kernel, Terminal, Turn
from aiflow.engine.conversations import Conversation, Conversations
from aiflow.engine.deadlines import Deadlines
from aiflow.engine.streams import Stream
from aiflow.engine.turns import Weaver
from aiflow.metrics.snapshot import Outcome


class Usher:
    """Leads a session's conversations.

    Args:
        conversations: the book of them.
        kernel: whose calls about turns and streams it answers.
        weaver: makes turns.
        guardians: of the plan, woken when a turn that had places has ended.
        note_error: takes the error that ended a conversation.
        note_end: takes each turn that has ended, before its lanes are let go.
        on_idle: called when a conversation has ended; more may have been opened.
        deadline_s: seconds that each conversation has; None is no limit.
    """

    def __init__(  # noqa: PLR0913 - the session's parts, by keyword
        self,
        conversations: Conversations,
        kernel: Kernel,
        weaver: Weaver,
        guardians: Mapping[str, Guardian],
        *,
        note_error: Callable[[BaseException], None],
        note_end: Callable[[Turn], None],
        on_idle: Callable[[], None],
        deadline_s: float | None = None,
    ) -> None:
        self._conversations = conversations
        self._kernel = kernel
        self._weaver = weaver
        self._guardians = guardians
        self._note_error = note_error
        self._note_end = note_end
        self._on_idle = on_idle
        self._opens_more = True
        self._deadlines = Deadlines(kernel.clock, deadline_s, self.fail_conversation)
        weaver.deadline_of = self._deadlines.of
        kernel.fail_turn = self.fail
        # Told from within whatever closed a lane: the books are closed afterwards.
        kernel.turn_ended = lambda turn: kernel.runlist.push(self._close, turn, None)
        kernel.stores_closed = lambda turn: kernel.runlist.push(self._stores_closed, turn, None)
        kernel.leave_turn = self._leave
        kernel.open_turns = conversations.turns
        kernel.stream_closed = self._stream_closed

    def open_conversations(self) -> None:
        """Open those that wait, while there is room."""
        while self._opens_more and (found := self._conversations.next()) is not None:
            id_, sources = found
            self._deadlines.begin(id_)
            turn = self._weaver.open(id_, 0, sources)
            conversation = Conversation(id_, sources, turn)
            self._kernel.active += 1
            self._conversations.open(conversation)
            self._cancel_if_asked(conversation)
            self._weaver.begin(turn, sources)

    def drain(self) -> None:
        """Open no further conversation and no further turn; what is inside comes out."""
        self._opens_more = False
        self._conversations.open_no_more()
        for conversation in tuple(self._conversations.active.values()):
            self._let_end(conversation)
            for turn in conversation.turns():
                stop_sources(turn, Terminal.END, self._kernel.now())

    def close(self) -> None:
        """Let no timer outlive the session."""
        self._deadlines.close()

    def stop(self) -> None:
        """Cancel all that is open and all that waits."""
        self._opens_more = False
        self._conversations.open_no_more("cancelled")
        for conversation in tuple(self._conversations.active.values()):
            self._cancel_whole(conversation)
            for turn in conversation.turns():
                if not turn.is_cancelled:  # it has failed, and is worked on where it has not
                    self._give_up(conversation, turn)

    def force(self) -> bool:
        """End at once what a stop has left to drain; return whether there was something."""
        now = self._kernel.now()
        return any([force_end(turn, Terminal.CANCEL, now) for turn in self._conversations.turns()])

    def cancel(self, id_: str, number: int | None) -> bool | None:
        """Cancel an open conversation or one turn of it.

        Returns:
            Whether there was something to cancel; None where no such conversation is open.
        """
        conversation = self._conversations.active.get(id_)
        if conversation is None:
            return None
        if number is None:
            return self._cancel_whole(conversation)
        newest = conversation.turn
        if number > newest.number:
            if not conversation.is_over:
                conversation.cancelled.add(number)
            return not conversation.is_over
        if number < newest.number or conversation.has_ended:
            return False
        return self._cancel(conversation, newest)

    def fail(self, turn: Turn, error: BaseException) -> None:
        """End a turn, and with it its conversation, because of an error.

        In a turn that has been cancelled an error changes nothing: it stays as it ended.
        """
        if turn.is_cancelled:
            return
        if turn.error is None:
            turn.error = error
            self._note_error(error)
        stop_sources(turn, Terminal.ERROR, self._kernel.now())
        conversation = self._conversations.active.get(turn.conversation)
        if conversation is not None:
            self._let_end(conversation)

    def fail_conversation(self, id_: str, error: BaseException) -> None:
        """End what is open of a conversation at once because of an error of its own."""
        conversation = self._conversations.active.get(id_)
        for turn in () if conversation is None else tuple(conversation.turns()):
            self.fail(turn, error)
            force_end(turn, Terminal.ERROR, self._kernel.now())

    def fail_all(self, error: BaseException) -> None:
        """End every open turn at once because of an error of the whole session."""
        self.fail_some(error, self._conversations.turns())

    def fail_some(self, error: BaseException, turns: Iterable[Turn]) -> None:
        """End some open turns at once because of an error that is of none of their operators."""
        for turn in turns:
            self.fail(turn, error)
            force_end(turn, Terminal.ERROR, self._kernel.now())

    # From turn to turn ------------------------------------------------------------------

    def _leave(self, stream: Stream, barge_in: bool) -> None:
        """Take a stream that is done with its turn, and open the next as soon as it may."""
        conversation = self._conversations.active[stream.lane.turn.conversation]
        conversation.held.append(stream)
        stream.detach(Terminal.CANCEL if barge_in else Terminal.END)
        if conversation.is_over:
            stream.stop(Terminal.CANCEL, self._kernel.now())
            return
        if barge_in and not conversation.has_ended:
            conversation.is_hasty = True
            self._cancel(conversation, conversation.turn)
        self._go_on(conversation)

    def _stores_closed(self, turn: Turn, _: object) -> None:
        conversation = self._conversations.active.get(turn.conversation)
        if conversation is not None and conversation.held:
            self._go_on(conversation)

    def _stream_closed(self, stream: Stream) -> None:
        conversation = self._conversations.active[stream.lane.turn.conversation]
        conversation.held.remove(stream)
        self._go_on(conversation)

    def _go_on(self, conversation: Conversation) -> None:
        """Open the next turn if it may open, or see the conversation out if that was all."""
        if conversation.held and not conversation.is_over:
            newest = conversation.turn
            if conversation.has_ended:
                self._open_next(conversation)
            elif conversation.is_hasty and conversation.fading is None and not newest.open_stores:
                conversation.fading = newest
                self._fade(1)
                self._open_next(conversation)
        elif conversation.has_ended and conversation.fading is None and not conversation.held:
            self._end(conversation)

    def _open_next(self, conversation: Conversation) -> None:
        streams, conversation.held = conversation.held, []
        before = conversation.turn
        by_node = {stream.guardian.id: stream for stream in streams}
        scopes = {node: stream.lane.scope for node, stream in by_node.items()}
        turn = self._weaver.open(before.conversation, before.number + 1, tuple(by_node), scopes)
        conversation.turn, conversation.has_ended, conversation.is_hasty = turn, False, False
        turn.elder = conversation.fading
        self._cancel_if_asked(conversation)
        for node, stream in by_node.items():
            stream.enter_turn(turn.lanes[node])
            if turn.is_cancelled and not stream.takes_turns:
                stream.stop(Terminal.CANCEL, self._kernel.now())
        if turn.fault is not None:
            self.fail(turn, turn.fault)

    def _close(self, turn: Turn, _: object) -> None:
        """Close the books of a turn that has ended at all its nodes."""
        conversation = self._conversations.active.get(turn.conversation)
        if conversation is None:
            return  # abandoned with its loop
        outcome: Outcome = "completed"
        if turn.error is not None:
            outcome = "failed"
        elif turn.is_cancelled:
            outcome = "cancelled"
        self._note_end(turn)
        turn.lanes = {}
        self._conversations.turns_ended[outcome] += 1
        if turn is conversation.fading:
            conversation.fading = conversation.turn.elder = None
            self._fade(-1)
        else:
            conversation.has_ended = True
            conversation.outcome = outcome
        self._go_on(conversation)
        self._wake_waiters()

    def _end(self, conversation: Conversation) -> None:
        self._kernel.active -= 1
        for guardian in self._guardians.values():
            if guardian.keys is not None:
                guardian.keys.end_conversation(conversation.id)
        self._deadlines.end(conversation.id)
        self._conversations.end(conversation)
        self.open_conversations()
        self._on_idle()

    def _fade(self, change: int) -> None:
        """Count places by conversation while one of them has two turns."""
        kernel = self._kernel
        kernel.fading += change
        for guardian in self._guardians.values():
            sharing.refresh(guardian)
            if guardian.is_limited:
                guardian.unasked = 0 if kernel.fading else 1

    def _wake_waiters(self) -> None:
        for guardian in self._guardians.values():
            if guardian.waiters or (guardian.is_choosy and guardian.depth):
                guardian.runner.wake(guardian)

    # Ends before their time -------------------------------------------------------------

    def _cancel(self, conversation: Conversation, turn: Turn) -> bool:
        if turn.is_cancelled or turn.error is not None:
            return False
        self._give_up(conversation, turn)
        return True

    def _give_up(self, conversation: Conversation, turn: Turn) -> None:
        turn.is_cancelled = True
        cancel_turn(turn, self._kernel.now(), goes_on=not conversation.is_over)

    def _cancel_whole(self, conversation: Conversation) -> bool:
        was_held = bool(conversation.held) and not conversation.is_over
        self._let_end(conversation)
        found = [self._cancel(conversation, turn) for turn in tuple(conversation.turns())]
        for turn in conversation.turns():
            stop_sources(turn, Terminal.CANCEL, self._kernel.now())
        return any(found) or was_held

    def _cancel_if_asked(self, conversation: Conversation) -> None:
        """Cancel a turn that has just been opened, if that was asked for before."""
        turn = conversation.turn
        if turn.number in conversation.cancelled:
            conversation.cancelled.discard(turn.number)
            self._cancel(conversation, turn)

    def _let_end(self, conversation: Conversation) -> None:
        """Let no further turn open, and close the streams that wait for one."""
        conversation.is_over = True
        for stream in tuple(conversation.held):
            stream.stop(Terminal.CANCEL, self._kernel.now())
