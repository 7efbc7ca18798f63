"""A stub of torch: lists of numbers, made-up GPUs, misbehaviour on demand. Not the real package."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings

CONFIG = {
    "version": "1.11.0",
    "cuda": None,
    "gpus": [],  # [name, major, minor]
    "arch_list": ["sm_37", "sm_50", "sm_70", "sm_80", "sm_86"],
    "warning": None,  # of is_available()
    "init_error": "No CUDA GPUs are available",
    "cudnn": 8302,
    "cuda_memory": "ok",  # or "leak"
    "bridge": "ok",  # or "broken", "wrong"
    "numpy": "1.26.4",
    "nms": "ok",  # or "missing", "wrong"
    "torchvision": "0.12.0",
    "torchaudio": "0.11.0",
    "at": {},  # {"import" | "copy" | "product" | "convolution" | "ones": what misbehaves there}
}
CONFIG.update(json.loads(os.environ.get("STUB_TORCH", "{}")))


def misbehave(place):
    """Do what the configuration wants at ``place``; give the word back when it is for the caller to do."""
    what = CONFIG["at"].get(place)
    if what is None or what in ("wrong", "nan", "leak"):
        return what
    if what.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, what))
        time.sleep(30)
    if what == "hang":
        time.sleep(300)
    if what == "print":
        lie = {"event": "end", "layer": "memory", "status": "fail", "reason": "a lie", "facts": {}, "seconds": 0}
        sys.stdout.write(json.dumps(lie) + "\n")
        sys.stdout.flush()
        os.write(1, b"no newline at the end")
        return None
    if what == "exit":
        sys.stderr.write("the last words\n")
        sys.stderr.flush()
        os._exit(3)
    if what == "orphan":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(20)"], start_new_session=True)
        os._exit(4)
    raise RuntimeError(what)


_allocated = [0]
_leaked = []


class Tensor:
    """A nested list, or one value many times over; the bytes are only there to take memory."""

    def __init__(self, value, device="cpu", size=0):
        self.value, self.device, self.size = value, device, size
        self.bytes = b"\1" * size if device == "cpu" else b""
        if device != "cpu":
            _allocated[0] += size

    def __del__(self):
        if self.device != "cpu" and CONFIG["cuda_memory"] == "ok":
            _allocated[0] -= self.size

    def to(self, device):
        changed = misbehave("copy") == "wrong"
        return Tensor([*self.value[:-1], -1.0] if changed else self.value, device, self.size)

    def cpu(self):
        return Tensor(self.value)

    def tolist(self):
        return self.value

    def flatten(self):
        return Tensor(list(_flat(self.value)))

    def sum(self):
        return sum(_flat(self.value))

    def numpy(self):
        if CONFIG["bridge"] == "broken":
            raise RuntimeError("Numpy is not available")
        return Tensor(self.value)

    def __matmul__(self, other):
        how = misbehave("product")
        columns = list(zip(*other.value))  # noqa: B905 - Python 3.7
        value = [[sum(a * b for a, b in zip(row, column)) for column in columns] for row in self.value]  # noqa: B905 - Python 3.7
        return Tensor(_spoilt(value, how, self.device), self.device)


def _spoilt(value, how, device):
    if how is not None and (device != "cpu" or CONFIG["cuda"] is None):
        value[0][0] = float("nan") if how == "nan" else value[0][0] + 1.0
    return value


def _flat(value):
    if isinstance(value, list):
        for part in value:
            yield from _flat(part)
    else:
        yield value


def tensor(value):
    return Tensor(value)


def ones(count):
    made = Tensor([1.0], size=count * 4)
    if misbehave("ones") == "leak":
        _leaked.append(made)
    return made


def from_numpy(array):
    if CONFIG["bridge"] == "broken":
        raise RuntimeError("Numpy is not available")
    return Tensor([9.0] if CONFIG["bridge"] == "wrong" else array.tolist())


class _Namespace:
    def __init__(self, **names):
        self.__dict__.update(names)


class cuda:  # noqa: N801 - torch.cuda is a module
    @staticmethod
    def is_available():
        if CONFIG["warning"]:
            warnings.warn(CONFIG["warning"], UserWarning, stacklevel=2)
        return bool(CONFIG["gpus"])

    @staticmethod
    def device_count():
        return len(CONFIG["gpus"])

    @staticmethod
    def init():
        raise RuntimeError(CONFIG["init_error"])

    @staticmethod
    def get_device_name(index):
        return CONFIG["gpus"][index][0]

    @staticmethod
    def get_device_capability(index):
        return tuple(CONFIG["gpus"][index][1:])

    @staticmethod
    def get_device_properties(_index):
        return _Namespace(total_memory=8 << 30)

    @staticmethod
    def get_arch_list():
        return CONFIG["arch_list"]

    @staticmethod
    def synchronize(_device):
        pass

    @staticmethod
    def empty_cache():
        pass

    @staticmethod
    def memory_allocated(_device):
        return _allocated[0]

    @staticmethod
    def memory_reserved(_device):
        return _allocated[0]


def _conv2d(images, kernels):
    how = misbehave("convolution")
    image, kernel = images.value[0][0], kernels.value[0][0]
    cells = [(i, j) for i in range(len(kernel)) for j in range(len(kernel))]
    places = range(len(image) - len(kernel) + 1)
    value = [[sum(image[y + i][x + j] * kernel[i][j] for i, j in cells) for x in places] for y in places]
    return Tensor([[_spoilt(value, how, images.device)]], images.device)


__version__ = CONFIG["version"]
version = _Namespace(cuda=CONFIG["cuda"])
nn = _Namespace(functional=_Namespace(conv2d=_conv2d))
backends = _Namespace(cudnn=_Namespace(version=lambda: CONFIG["cudnn"], enabled=True))
misbehave("import")
