"""Processes of a trainer that share groups, played by threads: each scores its part, as an actor of its own."""

import threading

from plaudit.llm import Scoring


def score_in_ranks(ledger, reward, features, parts, *, groups=None, step=1, run="night", absent=(), **options):
    """Score each part as a rank and return the totals of all of them; those of `absent` ranks record nothing."""
    barrier, boxes = threading.Barrier(len(parts)), [None] * len(parts)
    totals: list[list[float | None]] = [[]] * len(parts)

    def work(rank):
        def gather(entries):
            boxes[rank] = entries
            barrier.wait(30)
            everyone = [entry for box in boxes for entry in box]
            barrier.wait(30)
            return everyone, sum(map(len, boxes[:rank]))

        kept = ledger if rank not in absent else ledgers[rank]
        scoring = Scoring(reward, features, ledger=kept, run=run, actor=f"rank {rank}", **options)
        given = None if groups is None else groups[rank]
        totals[rank] = scoring.score(parts[rank], step=step, groups=given, gather=gather).totals

    ledgers = dict(absent)
    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(len(parts))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return [total for part in totals for total in part]
