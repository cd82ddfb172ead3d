#!/usr/bin/env python3
"""Writes the .npy files of this folder with NumPy: `python3 tests/data/npy/make.py`."""

from pathlib import Path

import numpy as np
from numpy.lib import format

FOLDER = Path(__file__).resolve().parent
NUMBERS = [-2, -1, 0, 1, 100, 127]


def main():
    for name in ["f2", "f4", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "b1", "f8"]:
        numbers = [abs(n) for n in NUMBERS] if name[0] == "u" else NUMBERS
        np.save(FOLDER / f"{name}.npy", np.array(numbers).astype(name).reshape(2, 3))
    counted = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.save(FOLDER / "fortran.npy", np.asfortranarray(counted))
    np.save(FOLDER / "big.npy", counted.astype(">f4"))
    np.save(FOLDER / "fortran-big.npy", np.asfortranarray(counted.astype(">i2")))
    np.save(FOLDER / "row.npy", counted.ravel())
    np.save(FOLDER / "scalar.npy", np.float32(2.5))
    np.save(FOLDER / "empty.npy", np.zeros((0, 3), np.int32))
    np.save(FOLDER / "structures.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))
    np.save(FOLDER / "raw.npy", np.zeros(2, dtype="V2"))
    for version in [(2, 0), (3, 0)]:
        with open(FOLDER / f"version-{version[0]}.npy", "wb") as file:
            format.write_array(file, counted, version=version)
    with open(FOLDER / "two.npy", "wb") as file:
        np.save(file, np.array([1, 2], np.int32))
        np.save(file, np.array([3.0], np.float32))


if __name__ == "__main__":
    main()
