"""Traders: what a portfolio gained, looked up in a history, and a ratio over what was gained so far."""

import numpy as np

from support.pasted import Pasted, make, numbers, on_rows


def compound_gain(history):
    """In per cent of the day before, on a log scale"""
    return 100 * np.log(history["account_value", -1] / history["account_value", -2])


class Broker:
    def _reward_of_step(self, wealth, wealth_before):
        self.gains.append(wealth / wealth_before - 1)
        if len(self.gains) < 3:
            return 0.0
        lately = self.gains[-self.window :]
        return float(np.mean(lately) / (np.std(lately) + 1e-6))


class _History:
    def __init__(self, **columns):
        self._columns = columns

    def __getitem__(self, key):
        name, at = key
        return self._columns[name][at]


def _broker(row):
    return make(Broker, row, gains=[0.01, -0.02], window=20)._reward_of_step(row.wealth, row.wealth_before)


PASTED = [
    Pasted(
        function=compound_gain,
        fields=numbers(50, 200, account_value=2),
        original=on_rows(lambda row: compound_gain(_History(account_value=row.account_value))),
    ),
    Pasted(
        function=Broker._reward_of_step,
        name="ratio",
        fields=numbers(50, 200, wealth=(), wealth_before=()),
        shared={"window": 20},
        original=on_rows(_broker),
    ),
]
