"""Try every mutant, each in a process of its own, and print a line of JSON for each.

The sound engine is tried first, under the name "none". With names as arguments only those.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import resource
import sys
import time
import warnings
from typing import Any

from tests.runtime.engine.mutants.faults import MUTANTS
from tests.runtime.engine.mutants.grafting import Mutant, graft
from tests.runtime.engine.mutants.laws import Law, bound_time, laws

#: Seconds of a core that a law gets before the fault counts as one that hangs. Sound it takes one.
CPU_S = 10


def main(names: list[str]) -> None:
    """Try the sound engine, then the mutants."""
    all_laws = laws({mutant.law for mutant in MUTANTS})
    bound_time()
    for mutant in (None, *MUTANTS):
        name = "none" if mutant is None else mutant.name
        if not names or name in names:
            began = time.perf_counter()
            told = _apart(mutant, all_laws)
            took_s = round(time.perf_counter() - began, 2)
            print(json.dumps({"mutant": name, "took_s": took_s, **told}), flush=True)


def _apart(mutant: Mutant | None, all_laws: dict[str, Law]) -> dict[str, Any]:
    """Try a mutant in a child, which it may spoil or hang."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        told: dict[str, Any] = {"law": None, "why": "the trial itself failed"}
        try:
            told = _try(mutant, all_laws)
        except BaseException as error:  # noqa: BLE001 - told, and the child ends here
            told["why"] = repr(error)
        os.write(writer, json.dumps(told).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    made: dict[str, Any] = json.loads(said or b'{"law": "any", "why": "it hangs"}')
    return made


def _try(mutant: Mutant | None, all_laws: dict[str, Law]) -> dict[str, Any]:
    """Return the first law that a mutant breaks, and how; None where it breaks none."""
    warnings.simplefilter("ignore")  # what is left of a broken run complains when it is collected
    logging.disable()
    if mutant is not None:
        graft(mutant)
    order = list(all_laws)
    if mutant is not None:
        order.remove(mutant.law)
        order.insert(0, mutant.law)
    for name in order:
        if mutant is not None:
            _bound_cpu()
        try:
            with (
                contextlib.redirect_stderr(io.StringIO()),
                contextlib.redirect_stdout(io.StringIO()),
            ):
                all_laws[name]()
        except BaseException as error:  # noqa: BLE001 - whatever a broken engine raises
            return {"law": name, "why": f"{type(error).__name__}: {error}"[:300]}
    return {"law": None, "why": ""}


def _bound_cpu() -> None:
    """Have this process killed if it goes on for longer than a law may take."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime) + CPU_S
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


main(sys.argv[1:])
