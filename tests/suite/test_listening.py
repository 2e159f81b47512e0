"""Tests of `tests/listening.py`: each ear fails a test once, and lets a clean one by."""

from __future__ import annotations

import logging

import pytest

from tests.listening import LogEar


@pytest.fixture
def inner(pytester: pytest.Pytester, log_ear: LogEar) -> pytest.Pytester:
    """Return a pytester whose tests are listened to as ours are, while our own ear is shut."""
    logging.getLogger().removeHandler(log_ear)
    pytester.makeconftest('pytest_plugins = ["tests.listening"]')
    return pytester


def outcome(inner: pytest.Pytester, body: str) -> pytest.RunResult:
    """Run one module of inner tests in this process."""
    inner.makepyfile(body)
    return inner.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:hypothesispytest")


def test_an_unexpected_warning_in_the_log_fails(inner: pytest.Pytester) -> None:
    """A log line of WARNING or more that nobody announced is an error of its test."""
    result = outcome(
        inner,
        """
        import logging
        def test_it(): logging.getLogger("aiflow.x").warning("lost %d", 3)
        """,
    )

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*unexpected log line: WARNING aiflow.x: lost 3"])


def test_an_announced_log_line_passes(inner: pytest.Pytester) -> None:
    """`allow_log` takes the line it names, of that logger or its children, and no other."""
    result = outcome(
        inner,
        """
        import logging
        def test_it(allow_log):
            allow_log("aiflow", "^lost")
            logging.getLogger("aiflow.x").warning("lost %d", 3)
        def test_other(allow_log):
            allow_log("aiflow", "^lost")
            logging.getLogger("aiflowing").error("lost")
        """,
    )

    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*ERROR aiflowing: lost"])


def test_a_test_with_caplog_judges_its_log_itself(inner: pytest.Pytester) -> None:
    """Whoever asks for `caplog` looks at the records, so the ear keeps out."""
    result = outcome(
        inner,
        """
        import logging
        def test_it(caplog):
            logging.error("seen")
            assert caplog.messages == ["seen"]
        """,
    )

    result.assert_outcomes(passed=1)


def test_a_task_left_to_asyncio_run_fails(inner: pytest.Pytester) -> None:
    """A task that outlives its main coroutine had no owner."""
    result = outcome(
        inner,
        """
        import asyncio
        async def forever(): await asyncio.Event().wait()
        async def main(): asyncio.get_running_loop().create_task(forever(), name="stray")
        def test_it(): asyncio.run(main())
        """,
    )

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*leaked task: stray (forever) outlived its main coroutine"])


def test_a_task_left_on_an_open_loop_fails(inner: pytest.Pytester) -> None:
    """A loop that is kept open does not hide its tasks."""
    result = outcome(
        inner,
        """
        import asyncio
        import pytest
        async def forever(): await asyncio.Event().wait()
        @pytest.fixture(scope="module")
        def loop():
            loop = asyncio.new_event_loop()
            yield loop
            loop.close()
        def test_it(loop):
            global task
            task = loop.create_task(forever(), name="stray")
            loop.run_until_complete(asyncio.sleep(0))
        def test_next(loop):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                loop.run_until_complete(task)
        """,
    )

    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*leaked task: stray (forever)"])


def test_a_sleep_inside_a_coroutine_fails(inner: pytest.Pytester) -> None:
    """Blocking the loop's thread is refused there, and allowed elsewhere."""
    result = outcome(
        inner,
        """
        import asyncio, time
        async def main(): time.sleep(0.001)
        def test_it(): asyncio.run(main())
        def test_outside(): time.sleep(0)
        """,
    )

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*time.sleep(0.001) blocks the running event loop*"])


def test_a_leaked_widget_fails_and_is_taken_down(inner: pytest.Pytester) -> None:
    """A window that outlives its test fails it, and the next test does not inherit it."""
    pytest.importorskip("PySide6")

    result = outcome(
        inner,
        """
        from PySide6.QtWidgets import QWidget
        def test_it(qapp):
            global kept
            kept = QWidget(objectName="stray")
        def test_next(qapp): pass
        def test_tidy(qtbot): qtbot.addWidget(QWidget())
        """,
    )

    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*leaked widget: QWidget 'stray'*"])


def test_a_running_timer_fails_and_is_stopped(inner: pytest.Pytester) -> None:
    """A timer that still runs after its test fails it, and is stopped for the next one."""
    pytest.importorskip("PySide6")

    result = outcome(
        inner,
        """
        from PySide6.QtCore import QTimer
        def test_it(qapp):
            global kept
            kept = QTimer()
            kept.start(50)
        def test_next(qapp): assert not kept.isActive()
        def test_stopped(qapp):
            timer = QTimer()
            timer.start(50)
            timer.stop()
        """,
    )

    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*leaked timer: every 50 ms*"])


def test_a_failed_test_is_reported_once(inner: pytest.Pytester) -> None:
    """What a failed test leaves behind is not reported on top of its failure."""
    result = outcome(
        inner,
        """
        import logging
        def test_it():
            logging.error("on the way down")
            assert False
        """,
    )

    result.assert_outcomes(failed=1)


def test_the_suite_is_strict_about_warnings(pytestconfig: pytest.Config) -> None:
    """Python warnings and Qt's messages fail tests; both are set where pytest reads them."""
    assert pytestconfig.getini("filterwarnings")[0] == "error"
    assert "WARNING" in pytestconfig.getini("qt_log_level_fail")
    assert pytestconfig.getini("xfail_strict") is True
