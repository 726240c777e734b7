"""The errors of apex. Each is a PlauditError, and also the builtin that a caller would catch."""

from plaudit.errors import InputError, PlauditError


class ProbeTimeout(InputError, TimeoutError):
    """A measurement of a running task, such as a run of its tests, did not come in time."""


class MessageRefused(PlauditError, RuntimeError):
    """A message was not let through; `reason` says why in a word, for programs."""

    def __init__(self, message: str, *, reason: str = "refused") -> None:
        """Say what was refused; `reason` is one of the codes that the router names."""
        super().__init__(message)
        self.reason = reason


class SwitchInFlight(PlauditError, RuntimeError):
    """A switch of topology was asked for while another one runs."""


class SwitchNotPrepared(PlauditError, RuntimeError):
    """A switch of topology was to be ended that had not begun, or not got that far."""
