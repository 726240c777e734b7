"""Rewards that read different things, as far as all of them read the same."""

from collections.abc import Callable, Sequence

from plaudit.errors import DefinitionError
from plaudit.reward.reward import Reward


def keep_shared_terms(
    rewards: Sequence[Reward], read: Callable[[Reward], set[str]]
) -> tuple[tuple[Reward, ...], tuple[tuple[str, ...], ...]]:
    """Return rewards with only the terms that read what all of them read, and the names of the others of each.

    What one reads is told by `read`: its inputs, where all must take the same rows; its fields, where each gets what a
    field was before a step and is after it.

    Raises:
        DefinitionError: Nothing is left of one of them.
    """
    common = set.intersection(*map(read, rewards))
    kept, left_out = [], []
    for reward in rewards:
        names = [term.name for term in reward.terms if read(reward.select_terms(term.name)) <= common]
        if not names:
            raise DefinitionError(
                f"every term of {reward.name}@{reward.version}, or what its total is made by, reads something that not "
                f"all of them read: {', '.join(sorted(read(reward) - common))}. There is nothing to compare."
            )
        kept.append(reward.select_terms(*names))
        left_out.append(tuple(term.name for term in reward.terms if term.name not in names))
    return tuple(kept), tuple(left_out)
