"""Start and end of the program: application, event loop, studio, and the way out."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import sys

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QMessageLogContext,
    Qt,
    QtMsgType,
    qInstallMessageHandler,
)
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from aiflow.errors import GraphFileError, PluginError
from aiflow.operators.local import with_file
from aiflow.operators.registry import Catalog
from aiflow_studio import __version__
from aiflow_studio.app.crash import CrashReporter
from aiflow_studio.app.loop import new_loop
from aiflow_studio.app.options import Options
from aiflow_studio.app.screenshot import take
from aiflow_studio.app.settings import SettingsFile
from aiflow_studio.app.studio import Studio
from aiflow_studio.runs.child import ChildHost
from aiflow_studio.runs.embedded import EmbeddedHost
from aiflow_studio.ui.look import icon
from aiflow_studio.ui.theme import DARK, THEMES

BAD_FILE = 2

#: Platforms of Qt that have no clipboard of a system.
_WITHOUT_CLIPBOARD = ("offscreen", "minimal")
_log = logging.getLogger("qt")
_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}
#: Said by platforms without a window manager, which is what was asked for.
_HARMLESS = "This plugin does not support"


def start(options: Options) -> int:
    """Open the window and return, once it is closed, the exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    qInstallMessageHandler(hear_qt)
    app = make_application()
    crash = CrashReporter()
    crash.install()
    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.get_loop().set_exception_handler(crash.loop_handler)
            return runner.run(_live(app, options, crash))
    finally:
        crash.uninstall()
        let_go()


def make_application() -> QApplication:
    """Return the application, named, and not ending by itself with its last window."""
    QApplication.setHighDpiScaleFactorRoundingPolicy(
        Qt.HighDpiScaleFactorRoundingPolicy.PassThrough
    )
    app = QApplication(sys.argv[:1])
    app.setApplicationName("aiflow-studio")
    app.setApplicationVersion(__version__)
    app.setDesktopFileName("aiflow-studio")
    # Qt would stop the loop under the tasks that are still ending.
    app.setQuitOnLastWindowClosed(False)
    app.setWindowIcon(icon("studio", DARK.accent))
    return app


async def _live(app: QApplication, options: Options, crash: CrashReporter) -> int:
    """Make the studio, live until it is closed, take it down."""
    try:
        catalog = _catalog(options)
    except PluginError as error:
        sys.stderr.write(f"aiflow-studio: {error}\n")
        return BAD_FILE
    if options.screenshot is not None:
        # A picture shows what a first start shows, on every machine.
        settings = SettingsFile(None)
    else:
        settings = SettingsFile.of_this_user(forgets=options.safe)
    hosts = EmbeddedHost(catalog), ChildHost(catalog, options.operators)
    studio = Studio(app, catalog, hosts[0], settings, crash, apart=hosts[1])
    try:
        if options.theme is not None:
            studio.look.set_theme(THEMES[options.theme])
        studio.bar.choose_strategy(options.strategy)
        studio.open_at_start(options.graph)
    except GraphFileError as error:
        sys.stderr.write(f"aiflow-studio: {error}\n")
        studio.window.close_for_good()
        await studio.dismantle()
        return BAD_FILE
    # What is here now lives as long as the window: the collector need not look at it again,
    # which would stop run and window for some 50 ms each time.
    gc.collect()
    gc.freeze()
    _hear_signals(studio)
    if options.screenshot is None:
        # A picture has the size of a first start, whatever this screen is.
        studio.window.fit_screen()
    studio.window.show()
    studio.canvas.widget().setFocus()
    if not options.safe:
        studio.errands.run(studio.recovery.offer(), "recovery")
    if options.run:
        studio.commands.run()
    if options.screenshot is not None:
        code = await take(studio, options.screenshot, options.after)
        await studio.leave()
    else:
        code = 0
        await studio.closed
    await studio.dismantle()
    return code


def hear_qt(kind: QtMsgType, _context: QMessageLogContext, message: str) -> None:
    """Put what Qt has to say into the log, but for what every start without a screen says."""
    if not message.startswith(_HARMLESS):
        _log.log(_LEVELS.get(kind, logging.WARNING), "%s", message)


def _catalog(options: Options) -> Catalog:
    """Return all that is installed, and what the named files hold.

    Raises:
        PluginError: a file cannot be used.
    """
    catalog = Catalog.load()
    for file in options.operators:
        catalog = with_file(catalog, file)
    return catalog


def _hear_signals(studio: Studio) -> None:
    """Close the window on Ctrl-C, with its question; leave at once when told to terminate.

    Whoever is impatient says it twice; the second finds nothing to do.
    """
    loop = asyncio.get_running_loop()

    def close() -> None:
        if not studio.closed.done():
            studio.window.close()

    def terminate() -> None:
        if not studio.closed.done():
            studio.errands.run(studio.leave(), "terminate")

    # Windows has no such handlers; there Ctrl-C ends the program as ever.
    with contextlib.suppress(NotImplementedError):
        loop.add_signal_handler(signal.SIGINT, close)
        loop.add_signal_handler(signal.SIGTERM, terminate)
        # The terminal that it was started from is closed; `nohup` says that this is nothing.
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            loop.add_signal_handler(signal.SIGHUP, terminate)


def let_go() -> None:
    """Delete what Qt was asked to delete before Python takes its modules apart."""
    if QGuiApplication.platformName() in _WITHOUT_CLIPBOARD:
        # There Qt keeps what was copied until after Python's end, and would crash deleting it.
        # Elsewhere the system has it, and it can still be pasted when the studio is closed.
        QGuiApplication.clipboard().clear()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    gc.unfreeze()
    gc.collect()
