#!/usr/bin/env python3
"""Trains the network of the example `digits`, and writes its files to examples/data/digits.

    pip install numpy scikit-learn safetensors
    python3 examples/digits/train.py

The data set comes with scikit-learn: 1,797 handwritten digits of 8 x 8 pixels, from 0 to 16. The first 1,000 train the network, and the
other 797 test it. The same versions on the same kind of processor give the same files. The script prints the versions, and
examples/data/README.md has those of the committed files.
"""

from pathlib import Path

import numpy as np
import safetensors.numpy
import sklearn
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

FOLDER = Path(__file__).resolve().parent.parent / "data" / "digits"
TRAINED = 1000


def main():
    digits = load_digits()
    pixels, labels = digits.data / 16.0, digits.target
    network = MLPClassifier(hidden_layer_sizes=(128,), activation="relu", alpha=1e-3, max_iter=400, random_state=0)
    network.fit(pixels[:TRAINED], labels[:TRAINED])

    # scikit-learn computes in f64. The weights are rounded first, so that the numbers below are those of the rounded network.
    network.coefs_ = [layer.astype(np.float32).astype(np.float64) for layer in network.coefs_]
    network.intercepts_ = [layer.astype(np.float32).astype(np.float64) for layer in network.intercepts_]
    weights = {}
    for number, (weight, bias) in enumerate(zip(network.coefs_, network.intercepts_), 1):
        weights[f"layer{number}.weight"] = np.ascontiguousarray(weight, dtype=np.float32)
        weights[f"layer{number}.bias"] = np.ascontiguousarray(bias, dtype=np.float32)

    test, wanted = pixels[TRAINED:], labels[TRAINED:]
    expected = network.predict_log_proba(test)
    right = int((expected.argmax(axis=1) == wanted).sum())

    FOLDER.mkdir(parents=True, exist_ok=True)
    safetensors.numpy.save_file(weights, FOLDER / "network.safetensors", metadata={"right": str(right), "of": str(len(wanted))})
    np.save(FOLDER / "images.npy", digits.images[TRAINED:].astype(np.uint8))
    np.save(FOLDER / "labels.npy", wanted.astype(np.uint8))
    np.save(FOLDER / "log-probabilities.npy", expected.astype(np.float32))
    print(f"numpy {np.__version__}, scikit-learn {sklearn.__version__}, safetensors {safetensors.__version__}")
    print(f"{right} of {len(wanted)} are right")


if __name__ == "__main__":
    main()
