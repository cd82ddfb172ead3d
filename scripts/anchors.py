#!/usr/bin/env python3
"""Times PyTorch's kernels (cuBLAS, cuDNN and its own) on an NVIDIA GPU, for the rows of `tilewright bench table`.

Needs PyTorch with CUDA. The rows come from the program `tilewright`, and their names are not repeated here:

    tilewright bench table --list --json | scripts/anchors.py > anchors.jsonl
    tilewright bench table --torch anchors.jsonl

Prints a JSON line for each kernel: {"work": the row, "variant": the kernel, "ms": the median of a call}. A kernel that fails has an
"error" instead of "ms". A row whose kernel has no counterpart here is named on standard error. TF32 is off. Calls are timed by events
around a CUDA graph of many calls, so that gaps between launches do not count. They use several sets of inputs in turn, as `bench --sets 3`
does. Inputs of a few MB stay in the cache all the same.
"""

import json
import statistics
import sys
import time

import torch
import torch.nn.functional as functional
from torch.nn.attention import SDPBackend, sdpa_kernel

F16, F32 = torch.float16, torch.float32
NHWC, NCHW = torch.channels_last, torch.contiguous_format

# The time that the calls of a graph take at least, in milliseconds, and the most calls.
GRAPH_MS, MOST_CALLS = 2.0, 1000
# The sets of inputs: as many as have this size together, but at least 1 and at most 3.
BYTES_OF_SETS, MOST_SETS = 2**31, 3
RUNS = 15
# The time for which the GPU is kept busy before it is timed, in seconds, because its clock follows its load.
WARM_UP = 1.0


def random(*shape, dtype=F32, layout=None):
    tensor = torch.randn(*shape, device="cuda", dtype=dtype)
    return tensor if layout is None else tensor.to(memory_format=layout)


def sets_of(make):
    """Returns several sets of inputs."""
    sets = [make()]
    size = sum(tensor.numel() * tensor.element_size() for tensor in sets[0])
    while len(sets) < MOST_SETS and (len(sets) + 1) * size <= BYTES_OF_SETS:
        sets.append(make())
    return sets


def elapsed_ms(function):
    """Returns the time of a function by the GPU's clock."""
    start, end = torch.cuda.Event(True), torch.cuda.Event(True)
    start.record()
    function()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)


def graph_of(function, sets, calls):
    """Returns a graph of calls that use the sets in turn. Returns the last outputs of each set, too, so that each set has its own memory."""
    outputs = [None] * len(sets)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for n in range(calls):
            outputs[n % len(sets)] = function(*sets[n % len(sets)])
    return graph, outputs


def median_ms(function, make):
    """Returns the median time of a call."""
    sets = sets_of(make)
    # The first calls choose algorithms, and a graph must not contain that.
    for arguments in sets:
        function(*arguments)
    torch.cuda.synchronize()
    # A call outside a graph takes as long as its launch, so a short graph gives the time of one.
    trial, _ = graph_of(function, sets, 10)
    elapsed_ms(trial.replay)
    one = elapsed_ms(trial.replay) / 10
    calls = max(len(sets), min(MOST_CALLS, int(GRAPH_MS / max(one, 1e-3)) + 1))
    graph, _outputs = graph_of(function, sets, calls)
    start = time.monotonic()
    while time.monotonic() - start < WARM_UP:
        elapsed_ms(graph.replay)
    return statistics.median(elapsed_ms(graph.replay) / calls for _ in range(RUNS))


def matmul(dtype):
    def anchors(s):
        make = lambda: (random(s["M"], s["K"], dtype=dtype), random(s["K"], s["N"], dtype=dtype))
        yield "cuBLAS, f16 result" if dtype == F16 else "cuBLAS", torch.mm, make

    return anchors


def matvec(dtype):
    def anchors(s):
        yield "cuBLAS, f16 result" if dtype == F16 else "cuBLAS", torch.mv, lambda: (random(s["M"], s["K"], dtype=dtype), random(s["K"], dtype=dtype))

    return anchors


def conv(dtype, side=3, stride=1):
    """Times both layouts, because an application may choose the faster one. The input has its margin, so there is no padding."""

    def anchors(s):
        for name, layout in (("NHWC", NHWC), ("NCHW", NCHW)):
            image = lambda layout=layout: random(s["N"], s["IC"], s["IH"], s["IW"], dtype=dtype, layout=layout)
            filters = lambda layout=layout: random(s["OC"], s["IC"], side, side, dtype=dtype, layout=layout)
            convolve = lambda x, f: functional.conv2d(x, f, stride=stride)
            yield f"cuDNN {name}", convolve, lambda image=image, filters=filters: (image(), filters())

    return anchors


def conv1x1(s):
    """A pointwise convolution with bias and ReLU: by cuDNN, or as a matrix product of the pixels."""
    n, h, w, ic, oc = (s[name] for name in ("N", "H", "W", "IC", "OC"))
    for name, layout in (("NHWC", NHWC), ("NCHW", NCHW)):
        make = lambda layout=layout: (random(n, ic, h, w, layout=layout), random(oc, ic, 1, 1, layout=layout), random(oc))
        yield f"cuDNN {name}, ReLU", lambda x, f, b: torch.relu_(functional.conv2d(x, f, b)), make
        fused = lambda x, f, b: torch.cudnn_convolution_relu(x, f, b, (1, 1), (0, 0), (1, 1), 1)
        yield f"cuDNN {name}, fused ReLU", fused, make
    yield "cuBLAS, ReLU", lambda x, f, b: torch.relu_(torch.addmm(b, x, f)), lambda: (random(n * h * w, ic), random(ic, oc), random(oc))


def depthwise(s):
    n, h, w, c = (s[name] for name in ("N", "IH", "IW", "C"))
    for name, layout in (("NHWC", NHWC), ("NCHW", NCHW)):
        make = lambda layout=layout: (random(n, c, h, w, layout=layout), random(c, 1, 3, 3))
        yield f"cuDNN {name}", lambda x, f: functional.conv2d(x, f, groups=c), make


def separable(s):
    n, h, w, c, oc = (s[name] for name in ("N", "IH", "IW", "C", "OC"))
    for name, layout in (("NHWC", NHWC), ("NCHW", NCHW)):
        make = lambda layout=layout: (random(n, c, h, w, layout=layout), random(c, 1, 3, 3), random(oc, c, 1, 1, layout=layout))
        both = lambda x, d, p: functional.conv2d(functional.conv2d(x, d, groups=c), p)
        yield f"cuDNN {name}, two kernels", both, make


def attention(dtype, causal):
    def anchors(s):
        queries, keys, heads = s["N"], s.get("M", s["N"]), 16 if s["B"] % 16 == 0 else 1
        shape = lambda rows, width: random(s["B"] // heads, heads, rows, width, dtype=dtype)
        make = lambda: (shape(queries, s["D"]), shape(keys, s["D"]), shape(keys, s["E"]))
        # FlashAttention and cuDNN have no f32.
        backends = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
        if dtype == F16:
            backends = [SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]
        for backend in backends:

            def attend(q, k, v, backend=backend):
                with sdpa_kernel(backend):
                    return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

            yield backend.name, attend, make

    return anchors


def rows(function):
    def anchors(s):
        yield "PyTorch", lambda x: function(x, s["C"]), lambda: (random(s["R"], s["C"]),)

    return anchors


def vector(function, dim, inputs=1):
    def anchors(s):
        yield "PyTorch", function, lambda: tuple(random(s[dim]) for _ in range(inputs))

    return anchors


# The kernels of other libraries for each entry of the catalog: a function of the sizes that yields a name, a function and its inputs.
ANCHORS = {
    "matmul": matmul(F32),
    "matmul_f16": matmul(F16),
    "matmul_f16_thin": matmul(F16),
    # With weights of f16, which are four times as large.
    "matmul_n_bits": matmul(F16),
    "matmul_n_bits_128": matmul(F16),
    "matmul_n_bits_f16": matmul(F16),
    "matvec": matvec(F32),
    "matvec_f16": matvec(F16),
    "conv2d_7x7": conv(F32, side=7, stride=2),
    "split_k": matmul(F32),
    "conv3x3_f16": conv(F16),
    "conv2d_f16_f32": conv(F16),
    "conv_nchw_f16_f32": conv(F16),
    "conv_nchw": conv(F32),
    "conv2d_winograd": conv(F32),
    "conv1x1": conv1x1,
    "depthwise": depthwise,
    "separable": separable,
    "softmax": rows(lambda x, columns: torch.softmax(x, 1)),
    "layernorm": rows(lambda x, columns: functional.layer_norm(x, (columns,))),
    "sum": vector(torch.sum, "K"),
    "argmax": vector(torch.argmax, "K"),
    "add": vector(torch.add, "N", inputs=2),
    "attention": attention(F32, causal=False),
    "attention_few": attention(F16, causal=False),
    "attention_mixed": attention(F16, causal=False),
    "attention_mixed_128": attention(F16, causal=False),
    "causal_attention_mixed": attention(F16, causal=True),
    "causal_attention_mixed_128": attention(F16, causal=True),
}


def show(work, variant, **result):
    print(json.dumps({"work": work, "variant": variant, **result}), flush=True)


def main():
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    # Our kernels add in f32.
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    # A copy shows the bandwidth that PyTorch reaches. It has no row in the table.
    words = 2**28
    copy = median_ms(lambda to, source: to.copy_(source), lambda: (torch.empty(words, device="cuda"), random(words)))
    show("copy 1 GiB", f"PyTorch {torch.__version__}, {torch.cuda.get_device_name(0)}", ms=copy)
    for row in json.load(sys.stdin):
        anchors = ANCHORS.get(row["kernel"])
        if anchors is None:
            print(f"{row['work']}: no kernel of PyTorch is known for `{row['kernel']}`; add it to ANCHORS", file=sys.stderr)
            continue
        for variant, function, make in anchors(row["sizes"]):
            torch.cuda.empty_cache()
            try:
                show(row["work"], variant, ms=round(median_ms(function, make), 6))
            except RuntimeError as error:
                show(row["work"], variant, error=str(error).splitlines()[0][:200])


main()
