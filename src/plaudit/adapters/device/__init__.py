"""Devices: recording the steps of environments whose arrays JAX or PyTorch keeps on a GPU."""

from plaudit.adapters.device.recorder import DeviceRecorder

__all__ = ["DeviceRecorder"]
