"""The verdict of a preflight, in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.cli.colours import paint
from envkit.cli.fit_words import reserves

if TYPE_CHECKING:
    from envkit.operations.preflight import PreflightResult

_FITS = {True: ("fits", "green"), False: ("does not fit", "red"), None: ("cannot be told", "yellow")}
_NO_ENVIRONMENTS = "cannot make environments"


def verdict(result: PreflightResult) -> str:
    """One line, however long, with its word in colour: whoever reads the last line has all of it."""
    told, colour = (_NO_ENVIRONMENTS, "red") if result.spec is None else _FITS[result.fits]
    return f"Verdict: {_sentence(result).replace(told, paint(told, colour, bold=True), 1)}"


def _sentence(result: PreflightResult) -> str:
    where = "the machine that you described" if result.machine.is_described else "this machine"
    if result.spec is None:
        return _of_machine(result, where)
    if result.fits is None:
        return f"whether {result.spec} fits {where} cannot be told."
    if result.fits:
        but = reserves(result.checks)
        return f"{result.spec} fits {where}{f'; {but}' if but else ''}."
    instead = next((route.spec for route in result.routes if route.spec is not None), None)
    return f"{result.spec} does not fit {where}{f'; {instead} does' if instead else ''}."


def _of_machine(result: PreflightResult, where: str) -> str:
    if any(check.status == "fail" for check in result.checks):
        return f"{where} {_NO_ENVIRONMENTS} as it is."
    route = next((route for route in result.routes if route.spec is not None), None)
    if result.machine.driver is None or route is None or route.spec is None:
        return f"no spec was named; `envkit preflight SPEC` judges one for {where}."
    from envkit.operations.known_machine import newest_cuda  # noqa: PLC0415 - tables
    from envkit.operations.specs import find_spec  # noqa: PLC0415

    cards = " and ".join(card.short for card in result.machine.cards)
    most = newest_cuda(result.machine)
    runs = "runs no CUDA build of torch that envkit knows" if most is None else f"runs builds up to CUDA {most}"
    told = f"driver {result.machine.driver} {runs}."
    if all(card.capability is None for card in result.machine.cards):
        return f"{told} Which of them {cards or 'the GPU'} runs cannot be told."
    if find_spec(route.spec).spec.cuda is not None:
        return f"{told} Newest for {cards}: `envkit create {route.spec}`."
    return f"{told} None of them is known to run on {cards}; for the CPU: `envkit create {route.spec}`."
