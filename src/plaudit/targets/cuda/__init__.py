"""The `cuda` target: a reward as one CUDA header, with a kernel that scores the columns of a batch."""

from plaudit.targets.cuda.reward import CudaReward

__all__ = ["CudaReward"]
