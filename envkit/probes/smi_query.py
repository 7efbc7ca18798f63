"""What ``nvidia-smi -q`` prints, as text and (``-x``) as XML."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from envkit.model.driver import Gpu
from envkit.probes.smi_part import BUS_ID, Part, cuda_in, driver_in, mib_in, name_in, number_in

_LINE = re.compile(r"(?P<indent> *)(?P<key>[A-Za-z][^:]*?) *(?:: ?(?P<value>.*))?")
_GPU = re.compile(rf" *GPU (?:{BUS_ID}|\d+)")
_MARKS = re.compile(
    r"NVSMI LOG|^ *(?:Attached GPUs|vGPU Software Licensed Product|FB Memory Usage|Persistence Mode|Product Brand"
    r"|GPU UUID|License Status) *(?::|$)|^ *(?:Driver|KMD|CUDA|CUDA UMD) Version {3,}: ",
    re.MULTILINE,
)
_VERSIONS = ("KMD Version", "Driver Version", "CUDA UMD Version", "CUDA Version")


@dataclass
class _Block:
    """One GPU of the log."""

    values: dict[str, str] = field(default_factory=dict)
    child: int | None = None
    section: str = ""
    has_parts: bool = False

    def take(self, indent: int, key: str, value: str | None) -> None:
        """A line of it: a heading (without a value), or a fact below the last one."""
        is_first = self.child is None
        if is_first:
            self.child = indent
        is_direct = indent == self.child
        if value is None:
            if is_direct:
                self.section = key
                self.has_parts |= key == "MIG Device"
        elif is_direct and is_first:
            self.values[key] = value  # the product's name; a licence has one, too
        elif (not is_direct or not self._is_nested) and self.section:
            self.values.setdefault(f"{self.section}/{key}", value)

    @property
    def _is_nested(self) -> bool:
        """Whether blanks tell what belongs where; some pastes have lost them."""
        return bool(self.child)

    def gpu(self, index: int) -> Gpu:
        # without blanks, the memory of a part of the GPU cannot be told from that of the whole
        is_clear = self._is_nested or not self.has_parts
        return Gpu(
            index,
            name_in(self.values.get("Product Name", "")),
            memory_total_mib=mib_in(self.values.get("FB Memory Usage/Total")) if is_clear else None,
            memory_used_mib=mib_in(self.values.get("FB Memory Usage/Used")) if is_clear else None,
            mig=_mig(self.values.get("MIG Mode/Current")),
        )


def parse_query(lines: list[str]) -> Part | None:
    """The GPUs of ``nvidia-smi -q``; None: the text is none."""
    text = "\n".join(lines)
    if _MARKS.search(text) is None:
        return None
    top: dict[str, str] = {}
    blocks: list[_Block] = []
    for line in lines[:-1]:  # the last one may be cut; after a whole one comes an empty one
        if _GPU.fullmatch(line.rstrip()):
            blocks.append(_Block())
            continue
        found = _LINE.fullmatch(line.rstrip())
        if found is None:
            continue
        value = found["value"]
        if blocks:
            blocks[-1].take(len(found["indent"]), found["key"], value)
        elif value is not None:
            top.setdefault(found["key"], value)
    first = _asked_index(text) if len(blocks) == 1 else None
    gpus = tuple(block.gpu(first if first is not None else number) for number, block in enumerate(blocks))
    driver, cuda = (_first(top, *_VERSIONS[:2]), _first(top, *_VERSIONS[2:]))
    version = driver_in(driver)
    wanted = (number_in(top.get("Attached GPUs")) or 1) if first is None else 1
    is_whole = version is not None and len(gpus) >= wanted
    return Part(gpus, version, cuda_in(cuda), is_complete=is_whole)


def parse_xml(text: str) -> Part | None:
    """The GPUs of ``nvidia-smi -q -x``, also of one that is cut off; None: the text is none."""
    if "<nvidia_smi_log" not in text and "<driver_version>" not in text:
        return None
    head, *rest = re.split(r"<gpu(?: id=|>)", text)
    gpus = []
    for number, block in enumerate(rest):
        own = re.sub(r"<mig_devices>.*?(?:</mig_devices>|\Z)", "", block.partition("</gpu>")[0], flags=re.DOTALL)
        memory = re.search(r"<fb_memory_usage>.*?(?:</fb_memory_usage>|\Z)", own, re.DOTALL)
        told = "" if memory is None else memory[0]
        gpus.append(
            Gpu(
                number,
                name_in(_element(own, "product_name")),
                memory_total_mib=mib_in(_element(told, "total")),
                memory_used_mib=mib_in(_element(told, "used")),
                mig=_mig(_element(own, "current_mig")),
            )
        )
    driver = driver_in(_element(head, "kmd_version") or _element(head, "driver_version"))
    cuda = cuda_in(_element(head, "cuda_umd_version") or _element(head, "cuda_version"))
    is_whole = bool(gpus) and driver is not None and "</nvidia_smi_log>" in text
    return Part(tuple(gpus), driver, cuda, is_complete=is_whole)


def _element(text: str, name: str) -> str:
    found = re.search(rf"<{name}>([^<]*)</{name}>", text)
    return "" if found is None else found[1]


def _first(values: dict[str, str], *keys: str) -> str:
    return next((values[key] for key in keys if key in values), "")


def _asked_index(text: str) -> int | None:
    """The GPU that was asked for alone: the log does not tell its number."""
    found = re.search(r"nvidia-smi[^\n]*? (?:-i|--id)[= ]*(\d{1,3})(?![\d,])", text)
    return None if found is None else int(found[1])


def _mig(value: str | None) -> str | None:
    word = (value or "").strip()
    return word if word in {"Enabled", "Disabled"} else None
