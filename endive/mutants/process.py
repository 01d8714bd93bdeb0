"""Faults of determinism: what a run takes from its process, or from a stream that no seed governs."""

from __future__ import annotations

from endive.mutants import witnesses as on
from endive.mutants.model import Mutant, Shows
from endive.mutants.patch import edited
from endive.utils import UniformStream, random_stream

_CHILD = "np.random.SeedSequence(seed).spawn(len(Purpose))[purpose]"

MUTANTS = (
    Mutant(
        "streams-by-hash",
        "a stream is seeded by the hash of its name, which is another one in every process",
        "Specification §8.5; trap: hash() of a string changes with PYTHONHASHSEED",
        ("fresh-process-same-run",),
        on.ELSEWHERE,
        edited(
            random_stream,
            (_CHILD, "np.random.SeedSequence((seed, hash(purpose.name) & 0xFFFFFFFF))"),
        ),
        shows=Shows.PAIR,
    ),
    Mutant(
        "streams-by-process",
        "the number of the process is stirred into the seeds",
        "Specification §8.5",
        ("fresh-process-same-run",),
        on.ELSEWHERE,
        edited(random_stream, ("SeedSequence(seed)", "SeedSequence((seed, os.getpid()))")),
        shows=Shows.PAIR,
    ),
    Mutant(
        "draws-from-the-process",
        "uniforms come from the generator that all of the process shares",
        "Specification §8.5: all randomness comes from seeded streams",
        ("no-unseeded-randomness",),
        on.CROWD,
        edited(UniformStream.random_sample, ("self._rng.random_sample", "np.random.random_sample")),
        shows=Shows.SOURCE,
    ),
    Mutant(
        "streams-without-seed",
        "streams are made without their seeds",
        "Specification §8.5: all randomness comes from seeded streams",
        ("no-unseeded-randomness",),
        on.CROWD,
        edited(
            random_stream,
            ("np.random.RandomState(np.random.MT19937(child))", "np.random.RandomState()"),
        ),
        shows=Shows.SOURCE,
    ),
)
