#!/usr/bin/env python3
"""Measures what launches cost by CUDA's driver and by PyTorch: graphs of the kernel of the example `calls`, which adds 1,024 numbers.

    scripts/cuda-graph.py

It needs NVIDIA's driver and Python, and no toolkit: the driver compiles the kernel. PyTorch is measured if it is installed. Times are
microseconds on the host's clock, medians of 100 runs. docs/calls.md shows them beside Tilewright's.
"""

import ctypes
import statistics
import subprocess
import sys
import time

RUNS = 100
PTX = b"""
.version 7.0
.target sm_50
.address_size 64
.visible .entry add(.param .u64 x, .param .u64 y) {
  .reg .u64 %address<6>;
  .reg .u32 %index<4>;
  .reg .f32 %value<4>;
  ld.param.u64 %address1, [x];
  ld.param.u64 %address2, [y];
  mov.u32 %index1, %ctaid.x;
  mov.u32 %index2, %tid.x;
  mad.lo.u32 %index3, %index1, 64, %index2;
  mul.wide.u32 %address3, %index3, 4;
  add.u64 %address4, %address1, %address3;
  add.u64 %address5, %address2, %address3;
  ld.global.f32 %value1, [%address4];
  ld.global.f32 %value2, [%address5];
  add.f32 %value3, %value1, %value2;
  st.global.f32 [%address5], %value3;
  ret;
}
"""


class Kernel(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS."""

    _fields_ = [
        ("function", ctypes.c_void_p),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("arguments", ctypes.POINTER(ctypes.c_void_p)),
        ("extra", ctypes.c_void_p),
    ]


class Cuda:
    """The driver with the compiled kernel and a stream."""

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.call("cuCtxSetCurrent", self.context)
        module, self.function, self.stream = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), PTX)
        self.call("cuModuleGetFunction", ctypes.byref(self.function), module, b"add")
        self.call("cuStreamCreate", ctypes.byref(self.stream), 1)
        self.x = self.tensor()

    def call(self, name, *arguments):
        code = getattr(self.driver, name)(*arguments)
        if code != 0:
            raise SystemExit(f"cuda-graph: {name} returns {code}")

    def tensor(self):
        """Returns a tensor of 1,024 zeros."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(4096))
        self.call("cuMemsetD32_v2", address, 0, ctypes.c_size_t(1024))
        return address

    def arguments(self, y):
        return (ctypes.c_void_p * 2)(ctypes.addressof(self.x), ctypes.addressof(y))

    def graph(self, launches, is_dependent):
        """Returns an executable graph. Dependent launches update the same tensor, each after the one before."""
        graph, before, y = ctypes.c_void_p(), None, self.tensor()
        self.call("cuGraphCreate", ctypes.byref(graph), 0)
        for _ in range(launches):
            y = y if is_dependent else self.tensor()
            arguments, node = self.arguments(y), ctypes.c_void_p()
            shape = ((16, 1, 1), (64, 1, 1))
            kernel = Kernel(self.function, *shape, 0, ctypes.cast(arguments, ctypes.POINTER(ctypes.c_void_p)), None)
            after = (ctypes.c_void_p * 1)(before) if is_dependent and before else None
            count = ctypes.c_size_t(1 if after else 0)
            # The driver copies the arguments.
            self.call("cuGraphAddKernelNode", ctypes.byref(node), graph, after, count, ctypes.byref(kernel))
            before = node.value
        made = ctypes.c_void_p()
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(made), graph, ctypes.c_ulonglong(0))
        return made

    def run(self, graph):
        self.call("cuGraphLaunch", graph, self.stream)
        self.call("cuStreamSynchronize", self.stream)

    def launch(self, y):
        self.call("cuLaunchKernel", self.function, 16, 1, 1, 64, 1, 1, 0, self.stream, self.arguments(y), None)
        self.call("cuStreamSynchronize", self.stream)


def row(name, call, count=1):
    """Prints the median time of a call, divided by `count`."""
    times = []
    for _ in range(RUNS + RUNS // 5):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    # The first runs warm up.
    print(f"{name:<46} {statistics.median(times[RUNS // 5:]) * 1e6 / count:8.2f}", flush=True)


GRAPHS = [
    ("a graph of one launch and its wait", 1, True),
    ("each of 1,000 dependent launches", 1000, True),
    ("each of 1,000 independent launches", 1000, False),
]


def by_driver():
    cuda = Cuda()
    y = cuda.tensor()
    row("a launch and its wait", lambda: cuda.launch(y))
    for name, launches, is_dependent in GRAPHS:
        graph = cuda.graph(launches, is_dependent)
        row(name, lambda: cuda.run(graph), launches)


def by_pytorch():
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed")
        return
    print(f"PyTorch {torch.__version__}")
    x, y = torch.zeros(1024, device="cuda"), torch.zeros(1024, device="cuda")

    def one():
        torch.add(x, y, out=y)
        torch.cuda.synchronize()

    def many():
        for _ in range(1000):
            torch.add(x, y, out=y)
        torch.cuda.synchronize()

    row("a launch and its wait", one)
    row("each of 1,000 launches", many, 1000)
    for name, launches, is_dependent in GRAPHS:
        graph, targets = torch.cuda.CUDAGraph(), [y if is_dependent else torch.zeros_like(x) for _ in range(launches)]
        # A graph of one stream: its launches follow each other, also if they are independent.
        with torch.cuda.graph(graph):
            for target in targets:
                torch.add(x, target, out=target)

        def replayed():
            graph.replay()
            torch.cuda.synchronize()

        row(name, replayed, launches)


# Each in a process of its own, because PyTorch waits for all streams of the process.
if sys.argv[1:] == ["--pytorch"]:
    by_pytorch()
else:
    by_driver()
    subprocess.run([sys.executable, __file__, "--pytorch"], check=True)
