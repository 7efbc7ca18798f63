"""Does the PyTorch of this environment work? Run this file with the environment's own Python.

Alone it prints a table and exits with 0 (works), 6 (broken) or 10 (cannot be told here: no GPU, or a hidden one), and
expects what requirements-lock.txt and .envkit/environment.json beside it say, where these exist. envkit runs it with
--json and reads one JSON object per line as each layer starts and ends. Python 3.7's library and torch 1.7's interface.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
if __name__ == "__main__" and not sys.flags.isolated:  # the caller's folders stand before Python's own, a json.py too
    own = sys.prefix + os.sep, sys.base_prefix + os.sep
    folders = map(os.path.abspath, filter(None, [HERE] + os.environ.get("PYTHONPATH", "").split(os.pathsep)))
    foreign = [folder for folder in folders if not folder.startswith(own)]
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) not in foreign]

import argparse
import ctypes
import faulthandler
import importlib.util
import json
import re
import shutil
import subprocess
import time
import warnings
from contextlib import suppress

LAYERS = ("import", "device", "compute", "memory")
TOLERANCE = 5e-3  # of the largest value: TF32, which many GPUs use by default, keeps ten bits
MIB = 1 << 20
BLOCK_BYTES = 64 * MIB
DISTRIBUTION = r"([^~].*)-(\d[^-]*)(?:-py[\d.]+)?\.(?:dist|egg)-info$"


class Fail(Exception):
    """The layer failed; the message is the reason."""


class Skip(Exception):
    """The layer cannot be tried here; the message is the reason."""


def expectation_beside(folder):
    """What the files beside this script say: the lock's versions, and the CUDA of the build."""
    expect, unusable = {}, (OSError, ValueError, KeyError, TypeError, RecursionError)
    with suppress(*unusable), open(os.path.join(folder, "requirements-lock.txt"), encoding="utf-8") as file:
        expect["packages"] = dict(re.findall(r"^([A-Za-z0-9][\w.-]*)==?([^\s;\\=]+)", file.read(), re.MULTILINE))
    with suppress(*unusable), open(os.path.join(folder, ".envkit", "environment.json"), encoding="utf-8") as file:
        expect.update(build_cuda=json.load(file)["build_cuda"], prefix=folder)
    return expect


def version_key(version):
    """``version`` in parts, so that spellings of one version are equal: 2023.07.22 and 2023.7.22, 1.0 and 1.0.0."""
    parts = re.findall(r"[0-9]+|[a-z]+|[+]", re.sub(r"([.]0+)+(?=[+]|$)", "", version.lower()))
    return [int(part) if part.isdigit() else part for part in parts]


def recorded(folder, pattern):
    """{name: [versions]} from the names of the entries in ``folder``."""
    found = {}
    entries = sorted(os.listdir(folder)) if os.path.isdir(folder) else ()
    for match in filter(None, [re.match(pattern, entry) for entry in entries]):
        found.setdefault(re.sub("[-_.]+", "-", match.group(1)).lower(), []).append(match.group(2))
    return found


def words(error):
    """An exception on one line."""
    text = " ".join(str(error).split())[:500]
    return "%s: %s" % (type(error).__name__, text) if text else type(error).__name__


def layer_import(check, facts):
    expect = check.expect
    if "prefix" in expect and os.path.realpath(sys.prefix) != os.path.realpath(expect["prefix"]):
        raise Fail("this is the Python of %s; run the one of %s" % (sys.prefix, expect["prefix"]))
    facts["python"] = ".".join(str(part) for part in sys.version_info[:3])
    wanted = {re.sub("[-_.]+", "-", name).lower(): version for name, version in expect.get("packages", {}).items()}
    check.torch = torch = import_module("torch")
    facts.update(torch_version=str(torch.__version__), build_cuda=torch.version.cuda, checked_packages=len(wanted))
    check_build(expect, wanted, torch)
    modules = {}
    for name in ("torchvision", "torchaudio", "numpy"):
        if name in wanted if "packages" in expect else importlib.util.find_spec(name) is not None:
            modules[name] = import_module(name)
            facts[name + "_version"] = str(modules[name].__version__)
    check_versions(wanted)
    for name, exercise in (("torchvision", check_nms), ("numpy", check_numpy)):
        if name in modules:
            exercise(torch, modules[name])


def import_module(name):
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise Fail("%s cannot be imported: %s" % (name, words(error))) from error


def check_build(expect, wanted, torch):
    found, build = torch.version.cuda, expect.get("build_cuda")
    if "build_cuda" in expect and (found and found.split(".")[:2]) != (build and build.split(".")[:2]):
        names = tuple("a build for CUDA %s" % cuda if cuda else "a CPU build" for cuda in (found, build))
        raise Fail("torch %s is %s; %s was expected" % ((torch.__version__,) + names))
    version, says = wanted.get("torch") or wanted.get("pytorch"), str(torch.__version__)
    spellings = says, says.split("+")[0], re.sub("[.]post.*", "", says)  # a lock may lack +cu102, or .post300 (conda)
    if version and version_key(version) not in map(version_key, spellings):
        raise Fail("torch says that it is %s; the lock has %s" % (torch.__version__, version))


def check_versions(wanted):
    found, wrong = {}, []
    for folder in sys.path:
        for name, versions in recorded(folder, DISTRIBUTION).items():
            found.setdefault(name, versions)  # the first folder on sys.path wins
    conda = recorded(os.path.join(sys.prefix, "conda-meta"), r"(.+)-([^-]+)-[^-]+\.json$")
    for name, version in sorted(wanted.items()):
        have = found.get(name, []) + conda.get(name, [])
        if len(found.get(name, [])) > 1:
            wrong.append("%s is there %d times (%s)" % (name, len(found[name]), ", ".join(found[name])))
        elif not have:
            wrong.append("%s %s is missing" % (name, version))
        elif version_key(version) not in [version_key(one) for one in have]:
            wrong.append("%s is %s, not %s" % (name, have[0], version))
    if wrong:
        raise Fail("packages differ from the lock (%d): %s" % (len(wrong), "; ".join(wrong[:5])))


def check_nms(torch, torchvision):
    boxes = [[0.0, 0.0, 10.0, 10.0], [1.0, 1.0, 11.0, 11.0], [20.0, 20.0, 30.0, 30.0]]
    try:
        kept = torchvision.ops.nms(torch.tensor(boxes), torch.tensor([0.9, 0.8, 0.7]), 0.5).tolist()
    except Exception as error:
        pair = torchvision.__version__, torch.__version__, words(error)
        raise Fail("torchvision %s does not work with torch %s: %s" % pair) from error
    if kept != [0, 2]:
        raise Fail("torchvision.ops.nms kept the boxes %s, not [0, 2]" % kept)


def check_numpy(torch, numpy):
    try:
        there, back = torch.from_numpy(numpy.arange(4.0)).tolist(), torch.tensor([1.0, 2.0]).numpy().tolist()
    except Exception as error:
        built = " (this torch was built for numpy 1: numpy<2)" if int(numpy.__version__.split(".")[0]) >= 2 else ""
        facts = torch.__version__, numpy.__version__, built, words(error)
        raise Fail("torch %s cannot exchange arrays with numpy %s%s: %s" % facts) from error
    if there != [0.0, 1.0, 2.0, 3.0] or back != [1.0, 2.0]:
        raise Fail("numbers change between torch and numpy %s" % numpy.__version__)


def layer_device(check, facts):
    if check.torch.version.cuda is not None:
        check.device = pick_gpu(check.torch, check.expect, facts)
    facts["device"] = check.device
    source = check.torch.tensor([float(number) for number in range(4096)])
    if source.to(check.device).cpu().tolist() != source.tolist():
        raise Fail("a tensor comes back changed from %s" % check.device)


def pick_gpu(torch, expect, facts):
    """The first GPU that the build has code for, such as ``cuda:0``."""
    said = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if count == 0:
            try:
                torch.cuda.init()
            except Exception as error:
                said.append(words(error))
    if count == 0:
        facts["torch_says"] = [str(one.message) for one in caught if "CUDA" in str(one.message)] + said
        explain_no_gpu(torch.version.cuda, expect, facts)
    facts["gpus"] = gpus = []
    for index in range(count):
        capability = "%d.%d" % tuple(torch.cuda.get_device_capability(index))
        gpus.append({"index": index, "name": torch.cuda.get_device_name(index), "compute_capability": capability,
                     "memory_total_mib": torch.cuda.get_device_properties(index).total_memory // MIB})
    archs = facts["arch_list"] = list(torch.cuda.get_arch_list())
    usable = [gpu["index"] for gpu in gpus if runs_on(archs, gpu["compute_capability"])]
    if not usable:
        have = gpus[0]["name"], gpus[0]["compute_capability"], torch.__version__, ", ".join(archs)
        raise Fail("%s has compute capability %s, and torch %s has code for %s only: another build is needed" % have)
    return "cuda:%d" % usable[0]


def runs_on(archs, capability):
    """Whether code for one of ``archs`` runs on ``capability``; when there is no list, it is to be tried.

    sm_XY runs on the same major from minor Y on, compute_XY (PTX) on all newer ones; ending in a, on that one alone, in
    f, in its family. https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/#gpu-feature-list
    """
    gpu = tuple(int(part) for part in capability.split("."))
    for kind, digits, ending in re.findall(r"\b(sm|compute)_(\d+)([af]?)\b", " ".join(archs)):
        built = int(digits[:-1]), int(digits[-1])
        if built == gpu or (built <= gpu and ending != "a" and (built[0] == gpu[0] or kind + ending == "compute")):
            return True
    return not archs


def explain_no_gpu(build, expect, facts):
    """Say why torch has no GPU, the nearest cause first: a variable, no GPU at all, the driver, the rest."""
    smi = expect["smi"] if "smi" in expect else ask_nvidia_smi()
    names, driver = smi.get("gpus") or [], smi.get("driver_version") or "of unknown version"
    shown = "nvidia-smi shows %s" % ", ".join(names) if names else smi.get("message") or "nvidia-smi shows none"
    hidden = expect.get("hidden_by") or hidden_by(os.environ, len(names))
    if hidden:
        facts["hidden_by"] = hidden
        raise Skip("%s hides every GPU from torch; %s" % (hidden, shown))
    if not names:
        none = smi.get("error_kind") in (None, "command-not-found", "no-devices")
        raise Skip("%s: %s" % ("no GPU here" if none else "the NVIDIA driver does not answer", shown))
    said = " / ".join(facts["torch_says"]) or "nothing"
    serves, needs = driver_cuda(said), tuple(int(part) for part in build.split(".")[:2])
    facts["driver_cuda_version"] = limit = serves and "%d.%d" % serves
    needs = (needs[0], 0) if needs[0] >= 11 else needs  # since 11, builds run on the drivers of their whole major
    if serves and serves < needs:
        text = "%s; driver %s serves CUDA up to %s and this build for CUDA %s needs a driver for %d.%d or newer"
        raise Fail(text % ((shown, driver, limit, build) + needs))
    if re.match(r"\s*(GPU|MIG)-", os.environ.get("CUDA_VISIBLE_DEVICES", "")):
        raise Skip("CUDA_VISIBLE_DEVICES=%r may name no GPU here; %s" % (os.environ["CUDA_VISIBLE_DEVICES"], shown))
    text = "%s, nothing hides it, and torch cannot use it: driver %s (CUDA up to %s), build for CUDA %s; torch says: %s"
    raise Fail(text % (shown, driver, limit or "unknown", build, said))


def hidden_by(environ, count):
    """``NAME='value'`` of the variable that hides all GPUs, or None; nvidia-smi shows ``count`` of them."""
    value = environ.get("CUDA_VISIBLE_DEVICES")
    if value is not None:
        tokens = [token.strip() for token in value.split(",")]
        index = int(tokens[0]) if re.match(r"-?[0-9]+$", tokens[0]) else None
        invalid = index is None and not re.match(r"(GPU|MIG)-", tokens[0])  # CUDA's list ends at an invalid one
        if invalid or len(set(tokens)) < len(tokens) or (index is not None and (index < 0 or 0 < count <= index)):
            return "CUDA_VISIBLE_DEVICES='%s'" % value
    value = environ.get("NVIDIA_VISIBLE_DEVICES")
    if not count and value in ("", "void", "none"):  # of containers: no GPU is let in
        return "NVIDIA_VISIBLE_DEVICES='%s'" % value
    return None


def ask_nvidia_smi():
    program = shutil.which("nvidia-smi") or shutil.which("nvidia-smi", path="/usr/lib/wsl/lib")
    if program is None:
        return {"error_kind": "command-not-found", "message": "nvidia-smi was not found"}
    command = [program, "--query-gpu=driver_version,name", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=15)
        text = done.stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired) as error:
        text = words(error)
    rows = re.findall(r"^\s*([0-9]+\.[0-9.]+|\[?N/A\]?)\s*,\s*(\S.*?)\s*$", text, re.MULTILINE)
    if rows:
        return {"gpus": [name for _, name in rows], "driver_version": rows[0][0]}
    said = "nvidia-smi says: %s" % (" ".join(text.split())[:300] or "nothing")
    return {"error_kind": "no-devices" if "No devices were found" in text else "failed", "message": said}


def driver_cuda(said):
    """(major, minor) of the newest CUDA that the driver serves: from torch's words, or else the driver's library."""
    match = re.search(r"found version ([0-9]{4,5})\)", said)
    number = ctypes.c_int(int(match.group(1)) if match else 0)
    if not match:
        with suppress(OSError, AttributeError):
            ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1").cuDriverGetVersion(ctypes.byref(number))
    return (number.value // 1000, number.value % 1000 // 10) if number.value else None


def numbers(size, seed):
    """A square matrix of numbers between -0.5 and 0.5, the same everywhere."""
    return [[(row * 37 + column * 17 + row * column * seed) % 101 / 101.0 - 0.5 for column in range(size)]
            for row in range(size)]


def layer_compute(check, facts):
    torch, on_gpu, numpy = check.torch, check.device != "cpu", sys.modules.get("numpy")
    left, right = [numbers(128 if on_gpu or numpy else 32, seed) for seed in (3, 5)]
    product = torch.tensor(left).to(check.device) @ torch.tensor(right).to(check.device)
    if on_gpu:
        torch.cuda.synchronize(check.device)  # errors of a GPU surface here, not at some later line
        wanted = (torch.tensor(left) @ torch.tensor(right)).flatten().tolist()
        facts.update(cudnn_version=torch.backends.cudnn.version(), cudnn_enabled=bool(torch.backends.cudnn.enabled))
    elif numpy:
        wanted = (numpy.array(left) @ numpy.array(right)).ravel().tolist()
    else:
        wanted = [sum(a * b for a, b in zip(row, column)) for row in left for column in zip(*right)]
    facts["matrix_product_difference"] = compare("the matrix product", product, wanted)
    image, kernel = numbers(16, 3), numbers(3, 7)
    tensors = torch.tensor([[image]]), torch.tensor([[kernel]])
    result = torch.nn.functional.conv2d(*[tensor.to(check.device) for tensor in tensors])
    if on_gpu:
        torch.cuda.synchronize(check.device)
        wanted = torch.nn.functional.conv2d(*tensors).flatten().tolist()
    else:
        places, cells = ([divmod(place, width) for place in range(width * width)] for width in (14, 3))
        wanted = [sum(image[y + i][x + j] * kernel[i][j] for i, j in cells) for y, x in places]
    facts["convolution_difference"] = compare("the convolution", result, wanted)


def compare(what, found, wanted):
    """The largest difference, as a part of the largest value."""
    pairs = list(zip(found.cpu().flatten().tolist(), wanted))
    scale = max(abs(want) for _, want in pairs)
    wrong = [pair for pair in pairs if not abs(pair[0] - pair[1]) <= TOLERANCE * scale]  # so written that NaN is wrong
    if wrong:
        raise Fail("%s is wrong in %d of %d numbers: %r, not %r" % ((what, len(wrong), len(pairs)) + wrong[0]))
    return max(abs(have - want) for have, want in pairs) / scale


def layer_memory(check, facts):
    before = memory_in_use(check)
    for _ in range(3):  # the system's allocator may keep a block for the next round, but not one more each round
        block = check.torch.ones(BLOCK_BYTES // 4).to(check.device)
        during = memory_in_use(check)
        del block
    after, spread = memory_in_use(check), 0 if check.device != "cpu" else BLOCK_BYTES // 2
    facts["block_mib"] = BLOCK_BYTES // MIB
    if not before:
        facts["resident_mib"] = "not measured: Python does not tell on this system"
    for name in before:
        sizes = facts[name + "_mib"] = [round(use[name] / MIB, 1) for use in (before, during, after)]
        if during[name] - before[name] < BLOCK_BYTES - spread or after[name] - before[name] > 3 * spread:
            values = (name, BLOCK_BYTES // MIB) + tuple(sizes)
            raise Fail("%s memory does not follow a block of %d MiB: %.1f before, %.1f with it, %.1f after it" % values)


def memory_in_use(check):
    """Bytes by what is counted; empty where nothing can be."""
    if check.device == "cpu":
        if not os.path.exists("/proc/self/statm"):
            return {}
        with open("/proc/self/statm") as file:
            return {"resident": int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")}
    if os.environ.get("PYTORCH_NO_CUDA_MEMORY_CACHING"):
        raise Skip("PYTORCH_NO_CUDA_MEMORY_CACHING turns the counters off")
    cuda = check.torch.cuda
    cuda.synchronize(check.device)
    cuda.empty_cache()
    return {"allocated": cuda.memory_allocated(check.device), "reserved": cuda.memory_reserved(check.device)}


def run_layers(count, expect, tell):
    """Run the first ``count`` layers; ``tell`` of each as it starts and ends. The exit status."""
    check, stopped, statuses = argparse.Namespace(expect=expect, torch=None, device="cpu"), None, []
    for layer, function in list(zip(LAYERS, (layer_import, layer_device, layer_compute, layer_memory)))[:count]:
        tell({"event": "start", "layer": layer})
        start, facts, status, reason = time.time(), {}, "pass", None
        try:
            if stopped:
                raise Skip(stopped)
            function(check, facts)
        except Exception as error:
            status, reason = judge(error)
            stopped = stopped or (reason if status == "skip" else "layer %s failed" % layer)
        statuses.append(status)
        tell({"event": "end", "layer": layer, "status": status, "reason": reason, "facts": facts,
              "seconds": round(time.time() - start, 3)})
    return 6 if "fail" in statuses else 10 if "skip" in statuses else 0


def judge(error):
    """The status and the reason of a layer that ended with ``error``."""
    if re.search("CUDA.*out of memory|busy or unavailable", str(error), re.DOTALL):
        return "skip", "the GPU cannot be had now, others may have all of it: %s" % words(error)
    if isinstance(error, (Fail, Skip)):
        return type(error).__name__.lower(), str(error)
    return "fail", words(error)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object per line as each layer starts and ends")
    choices = [",".join(LAYERS[: count + 1]) for count in range(len(LAYERS))]
    parser.add_argument("--layers", default=choices[-1], choices=choices, metavar="L", help="layers to run; all")
    parser.add_argument("--expect", type=json.loads, help="what the environment should hold, a JSON object")
    options = parser.parse_args()
    if not isinstance(options.expect, (dict, type(None))):
        parser.error("argument --expect: not a JSON object")
    faulthandler.enable()
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)  # what libraries print, from C too, must not end up between our lines

    def tell(row):
        if options.json:
            stream.write("\n%s\n" % json.dumps(row))  # the first newline ends what was printed before us
        elif row["event"] == "end":
            about = row["reason"] or ", ".join("%s=%s" % fact for fact in sorted(row["facts"].items()))
            stream.write("%-7s  %s  %6.1f s  %s\n" % (row["layer"], row["status"], row["seconds"], about))
        stream.flush()
    expect = options.expect if options.expect is not None else expectation_beside(HERE)
    try:
        return run_layers(options.layers.count(",") + 1, expect, tell)
    except BrokenPipeError:  # whoever read this has gone, as in `check_env.py | head -1`
        os._exit(141)  # as a shell says that SIGPIPE ended it


if __name__ == "__main__":
    sys.exit(main())
