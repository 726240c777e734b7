"""The `javascript` target: a reward as an ES module for browsers and Node, with the numbers that Python gives."""

from plaudit.targets.javascript.reward import JavaScriptReward

__all__ = ["JavaScriptReward"]
