"""The medoid of the digits data set with a small part of the distance computations.

    python examples/medoid.py

The medoid is the image with the smallest mean distance to all others: of 1,797 images, with 1,613,706 distances. Here an arm is
an image, and a pull computes its cosine similarity to a random other image, a number in [0, 1] since pixels are not negative.
The largest mean similarity is the smallest mean cosine distance. Only similarities that are asked for are computed.

Arms are `vectorised`: each is called with a count and returns that many rewards at once.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

import surest
from surest import Result

Floats = npt.NDArray[np.float64]
SEED = 1


def unit_images() -> Floats:
    """The images as vectors of length one."""
    pixels: Floats = load_digits().data
    lengths: Floats = np.linalg.norm(pixels, axis=1, keepdims=True)
    return pixels / lengths


def similarity_to_others(images: Floats, own: int, rng: np.random.Generator) -> Callable[[int], Floats]:
    """An arm: similarities of one image to random others."""

    def pull(times: int) -> Floats:
        others = rng.integers(0, len(images) - 1, times)
        others += others >= own  # all but itself
        return np.clip(images[others] @ images[own], 0, 1)  # rounding may give 1 + 2e-16

    return pull


def find_medoid(images: Floats, delta: float = 0.05) -> Result:
    """The image of the largest mean similarity, wrong with probability at most δ."""
    rng = np.random.default_rng(SEED)
    arms = [similarity_to_others(images, own, rng) for own in range(len(images))]
    return surest.identify(arms, delta, seed=SEED, vectorised=True)


def exact_medoid(images: Floats) -> int:
    """The same from all distances."""
    return int((images @ images.sum(axis=0)).argmax())


def main() -> None:
    """Find it, and compare with the exact answer."""
    images = unit_images()
    result = find_medoid(images)
    distances = len(images) * (len(images) - 1) // 2
    print(f"image {result.best} is the medoid: certified {result.certified}")
    print(f"{result.pulls:,} similarities of {distances:,}, {result.pulls / distances:.1%}")
    print(f"computed from all of them: image {exact_medoid(images)}")


if __name__ == "__main__":
    main()
