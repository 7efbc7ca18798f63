"""A stub of torchaudio. Not the real package."""

import torch

if torch.CONFIG["torchaudio"] == "broken":
    raise OSError("libtorchaudio.so: undefined symbol: _ZN2at4_ops5zeros")
__version__ = torch.CONFIG["torchaudio"]
