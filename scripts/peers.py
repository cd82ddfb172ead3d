#!/usr/bin/env python3
"""Times kernels of the crate `schedules` beside cuBLAS, cuDNN and PyTorch's own kernels, on one NVIDIA GPU.

Needs PyTorch with CUDA, and the program `tilewright` (cargo install --path cli), for example:

    TILEWRIGHT_DEVICE=discrete scripts/peers.py tilewright > docs/measurements/peers-h100.json

Both sides are timed by the GPU's clock: ours by timestamps (`tilewright bench`), PyTorch by events around a graph of launches. Each
figure is a median. Both rotate through several sets of arguments, so that small ones do not stay in the cache. The planned schedules
are `{}`. The table goes to standard error, the data to standard output.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as functional
from torch.nn.attention import SDPBackend, sdpa_kernel

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The profile of the card for the planned schedules.
PROFILE = "nvidia_hopper"


def random(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def median_us(function, sets, calls):
    """Returns the median time of a call in microseconds. A graph of `calls` calls is launched at a time, so that gaps do not count."""
    for arguments in sets:
        function(*arguments)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for n in range(calls):
            function(*sets[n % len(sets)])
    times = []
    for _ in range(18):
        start, end = torch.cuda.Event(True), torch.cuda.Event(True)
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / calls * 1e3)
    return statistics.median(times[3:])


def matmul(n, dtype):
    sets = [(random(n, n, dtype=dtype), random(n, n, dtype=dtype)) for _ in range(3)]
    return "cuBLAS", median_us(torch.mm, sets, 10)


def conv(n, channels, side, filters, dtype):
    """Returns the time in the layout in which cuDNN is faster: channels last, or channels first."""
    times = []
    for layout in (torch.channels_last, torch.contiguous_format):
        image = lambda: random(n, channels, side, side, dtype=dtype).to(memory_format=layout)
        weights = lambda: random(filters, channels, 3, 3, dtype=dtype).to(memory_format=layout)
        times.append(median_us(functional.conv2d, [(image(), weights()) for _ in range(3)], 20))
    return "cuDNN", min(times)


def attention(batch, length, width):
    """Returns the time of PyTorch's fastest kernel of its own (FlashAttention 2); cuDNN's is faster still and stated apart."""
    sets = [tuple(random(batch, 16, length, width, dtype=torch.float16) for _ in range(3)) for _ in range(2)]
    times = {}
    for name, backend in (("PyTorch", SDPBackend.FLASH_ATTENTION), ("cuDNN", SDPBackend.CUDNN_ATTENTION)):
        with sdpa_kernel(backend):
            times[name] = median_us(functional.scaled_dot_product_attention, sets, 5)
    return times


def softmax(rows, columns):
    return "PyTorch", median_us(lambda x: torch.softmax(x, 1), [(random(rows, columns),) for _ in range(3)], 20)


F16, F32 = torch.float16, torch.float32
# What is computed, the entry of `tilewright bench catalog`, its kernel, the size, and the peer.
ROWS = [
    ("softmax of 32768 rows of 4096, f32", "softmax", "softmax", "R=32768,C=4096", lambda: softmax(32768, 4096)),
    ("matrix product 4096³, f32", "matmul", "matmul", "M=4096,N=4096,K=4096", lambda: matmul(4096, F32)),
    ("matrix product 4096³, f16, sums in f32", "matmul_f16", "matmul_f16", "M=4096,N=4096,K=4096", lambda: matmul(4096, F16)),
    ("3x3 convolution 32x56x56x64 → 64, f32", "conv2d_winograd", "conv2d<T = f32>", "N=32,IH=58,IW=58,IC=64,OC=64", lambda: conv(32, 64, 58, 64, F32)),
    ("3x3 convolution 2x8x8x1280 → 1280, f32", "conv2d_winograd", "conv2d<T = f32>", "N=2,IH=10,IW=10,IC=1280,OC=1280", lambda: conv(2, 1280, 10, 1280, F32)),
    ("3x3 convolution 32x56x56x64 → 64, f16", "conv3x3_f16", "conv3x3_f16", "N=32,IH=58,IW=58,IC=64,OC=64", lambda: conv(32, 64, 58, 64, F16)),
    ("attention of 256 heads, 4096 x 64, f16", "attention_mixed", "attention_mixed", "B=256,N=4096,M=4096,D=64,E=64", lambda: attention(16, 4096, 64)),
]


def planned_schedules(folder):
    """Writes a crate with a schedule `{}` for each kernel, which `tilewright bench` reads without building it. Returns its file."""
    (folder / "src").mkdir()
    dependencies = f'tilewright = {{ path = "{ROOT}" }}\ntilewright-schedules = {{ path = "{ROOT}/schedules" }}\n'
    package = '[package]\nname = "planned"\nversion = "0.1.0"\nedition = "2024"\n'
    (folder / "Cargo.toml").write_text(f"{package}[dependencies]\n{dependencies}")
    lines = ["use tilewright::{devices, schedule};", "use tilewright_schedules::kernels::*;"]
    for name, kernel in {entry: kernel for _, entry, kernel, _, _ in ROWS}.items():
        lines.append(f"schedule! {{ pub {name.upper()}: {kernel} for devices::{PROFILE} {{}} }}")
    file = folder / "src/lib.rs"
    file.write_text("\n".join(lines) + "\n")
    return str(file)


def ours(program, arguments, size):
    """Returns the rows of `tilewright bench`."""
    command = [program, "bench", *arguments, "--size", size, "--runs", "15", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return [row for row in json.loads(done.stdout)["rows"] if row["median_ns"]]


def fastest(rows):
    return min(((row["median_ns"] / 1e3, f"{row['schedule']} for {row['profile']}") for row in rows), default=(None, None))


def main():
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    [program] = sys.argv[1:] or ["tilewright"]
    rows = []
    folder = tempfile.TemporaryDirectory()
    file = planned_schedules(pathlib.Path(folder.name))
    for what, entry, _, size, peer in ROWS:
        peers = peer()
        peers = peers if isinstance(peers, dict) else dict([peers])
        torch.cuda.empty_cache()
        catalog = ours(program, ["catalog", "--kernel", entry], size)
        # `…_F16` of an f32 kernel stores its intermediates as f16, which the peer does not.
        hand, name = fastest([row for row in catalog if not row["schedule"].endswith(("DEFAULT", "_F16"))])
        planned, _ = fastest(ours(program, [file, "--schedule", entry.upper()], size))
        row = {"what": what, "entry": entry, "size": size, "schedule": name, "by_hand_us": hand, "planned_us": planned, "peers_us": peers}
        rows.append(row)
        text = ", ".join(f"{n} {time:.1f} us" for n, time in peers.items())
        print(f"{what}: {name} {hand or 0:.1f} us, planned {planned or 0:.1f} us, {text}", file=sys.stderr, flush=True)
    card = torch.cuda.get_device_name(0)
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True)
    data = {"card": card, "driver": driver.stdout.strip(), "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "rows": rows}
    json.dump(data, sys.stdout, indent=1, ensure_ascii=False)
    print()


main()
