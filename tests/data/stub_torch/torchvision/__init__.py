"""A stub of torchvision. Not the real package."""

import torch


class ops:  # noqa: N801 - torchvision.ops is a module
    @staticmethod
    def nms(_boxes, _scores, _threshold):
        if torch.CONFIG["nms"] == "missing":
            raise RuntimeError("operator torchvision::nms does not exist")
        return torch.Tensor([0, 2] if torch.CONFIG["nms"] == "ok" else [0, 1, 2])


__version__ = torch.CONFIG["torchvision"]
