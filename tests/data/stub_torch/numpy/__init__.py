"""A stub of numpy. Not the real package."""

import json
import os

__version__ = json.loads(os.environ.get("STUB_TORCH", "{}")).get("numpy", "1.26.4")


class array:  # noqa: N801 - numpy's own name
    def __init__(self, value):
        self.value = value

    def tolist(self):
        return self.value

    def ravel(self):
        return array([number for row in self.value for number in row])

    def __matmul__(self, other):
        columns = list(zip(*other.value))  # noqa: B905 - Python 3.7
        return array([[sum(a * b for a, b in zip(row, column)) for column in columns] for row in self.value])  # noqa: B905


def arange(stop):
    return array([float(number) for number in range(int(stop))])
