"""Names of tests."""

import re


def named(value):
    """Return what a value shows, without addresses: all processes must agree on it."""
    return re.sub(r" at 0x\w+", "", str(value))
