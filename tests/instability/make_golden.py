# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/instability.npz: gradients of a residual MLP computed by microxcaling.

    python3 make_golden.py FOLDER_OF_MICROXCALING OUT.npz

Needs torch (1.13, CPU) and numpy. Everything that decides a bit is the library's: quantization of
operands, rounding of vector operations, the order of operations in Linear, LayerNorm, GELU and SiLU.
What would depend on torch's summation order or on its approximation of a function is made exact here:
matrix products and sums are computed in binary64 (exact for these few bits) and rounded once to
binary32, exp and the exact GELU in binary64 too. The library's own code is untouched but for one
function replaced at run time: the CUDA setting of matrix products, which this torch lacks on the CPU.
For the configurations named bump_* the shared exponents are computed as the library does, plus one
where the largest element of a block would saturate.
"""
import contextlib
import sys

import numpy as np
import torch

sys.path.insert(0, sys.argv[1])
from mx.activations import GELUFunction, SiLUFunction  # noqa: E402
from mx.formats import _get_format_params  # noqa: E402
from mx.layernorm import LayerNormFunction  # noqa: E402
from mx.linear import LinearFunction  # noqa: E402
from mx.specs import finalize_mx_specs  # noqa: E402

# The package has functions of the same names as its modules.
linear_module = sys.modules["mx.linear"]
mx_ops = sys.modules["mx.mx_ops"]
vector_ops = sys.modules["mx.vector_ops"]

ROWS, WIDTH, LAYERS = 64, 32, 2


@contextlib.contextmanager
def no_setting(*_):
    yield


def exact_product(a, b):
    return torch.mm(a.double(), b.double()).float()


linear_module.set_matmul_precision = no_setting
linear_module.torch_matmul = exact_product
linear_module.f_linear = lambda x, w: exact_product(x, w.t())
vector_ops.torch_exp = lambda x: torch.exp(x.double()).float()


plain_sum = torch.Tensor.sum


def exact_sum(x, *args, **kwargs):
    return plain_sum(x.double(), *args, **kwargs).float() if x.dtype == torch.float32 else plain_sum(
        x, *args, **kwargs)


torch.Tensor.sum = exact_sum
plain_shared_exponents = mx_ops._shared_exponents


def bumped(elem_format):
    _, _, emax, max_norm, _ = _get_format_params(elem_format)

    def shared_exponents(a, method="max", axes=None, ebits=0):
        exponents = plain_shared_exponents(a, method=method, axes=axes, ebits=ebits)
        amax = a.abs().amax(dim=axes, keepdim=True)
        return exponents + (amax / 2**exponents > max_norm / 2**emax).float()

    return shared_exponents


class ExactGelu(torch.autograd.Function):
    """x Phi(x), and Phi(x) + x phi(x), in binary64, each rounded once."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        z = x.double()
        return (z * torch.special.ndtr(z)).float()

    @staticmethod
    def backward(ctx, g):
        z = ctx.saved_tensors[0].double()
        slope = torch.special.ndtr(z) + z * torch.exp(-z * z / 2) / np.sqrt(2 * np.pi)
        return g * slope.float()


def specs_of(w, a, back, backward=True):
    return finalize_mx_specs({
        "w_elem_format": w, "a_elem_format": a, "w_elem_format_bp": w, "a_elem_format_bp": a,
        "a_elem_format_bp_ex": back, "a_elem_format_bp_os": back, "scale_bits": 8, "block_size": 32,
        "bfloat": 16, "custom_cuda": False, "round": "nearest", "quantize_backprop": backward})


def run(name, specs, start, x, y, activation, arrays):
    hidden = start[0]["w2"].shape[1]
    p = [{k: v.clone().requires_grad_() for k, v in block.items()} for block in start]
    a = x
    for block in p:
        n = LayerNormFunction.apply(a, block["gain"], block["bias"], 1e-5, specs, None)
        h = LinearFunction.apply(n, block["w1"], None, specs, False, None)
        if activation == "gelu":
            h = ExactGelu.apply(h)
        elif activation == "gelu_emulated":
            h = GELUFunction.apply(h, specs, False, None)
        else:
            h = h[:, :hidden] * SiLUFunction.apply(h[:, hidden:], False, specs, None)
        a = a + LinearFunction.apply(h, block["w2"], block["b2"], specs, False, None)
    # mse_loss, whose gradient is 2 (a - y) / numbers.
    loss = ((a - y).double() ** 2).mean()
    a.backward(((a - y) * np.float32(2.0 / a.numel())).detach())
    arrays[name + "/output"] = a.detach().numpy()
    arrays[name + "/loss"] = np.array([loss.item()])
    gradient = [block[k].grad.reshape(-1) for block in p for k in ("gain", "bias", "w1", "w2", "b2")]
    arrays[name + "/gradient"] = torch.cat(gradient).numpy()


def main():
    random = torch.Generator().manual_seed(20250703)

    def normal(*shape):
        return torch.randn(*shape, generator=random)

    arrays = {"x": normal(ROWS, WIDTH).numpy(), "y": (0.1 * normal(ROWS, WIDTH)).numpy()}
    x, y = torch.from_numpy(arrays["x"]), torch.from_numpy(arrays["y"])
    starts = {}
    for kind, first, hidden in (("plain", 4 * WIDTH, 4 * WIDTH), ("gated", 2 * 96, 96)):
        blocks = []
        for _ in range(LAYERS):
            blocks.append({
                "gain": 0.93 * torch.exp(0.05 * normal(WIDTH)), "bias": 0.02 * normal(WIDTH),
                "w1": (2 * torch.rand(first, WIDTH, generator=random) - 1) / WIDTH**0.5,
                "w2": (2 * torch.rand(WIDTH, hidden, generator=random) - 1) / hidden**0.5,
                "b2": 0.05 * normal(WIDTH)})
        starts[kind] = blocks
        parameters = [b[k].reshape(-1) for b in blocks for k in ("gain", "bias", "w1", "w2", "b2")]
        arrays["parameters_" + kind] = torch.cat(parameters).numpy()

    formats = {"e4m3": "fp8_e4m3", "e2m3": "fp6_e2m3", "e5m2": "fp8_e5m2", "e3m2": "fp6_e3m2",
               "e2m1": "fp4_e2m1"}
    for name, f in formats.items():
        run(name, specs_of(f, f, f), starts["plain"], x, y, "gelu", arrays)
    mixed = specs_of("fp8_e4m3", "fp8_e4m3", "fp8_e5m2")
    mixed["w_elem_format_bp"] = "fp8_e5m2"
    run("e4m3_e5m2", mixed, starts["plain"], x, y, "gelu", arrays)
    forward_only = specs_of("fp8_e4m3", "fp8_e4m3", "fp8_e4m3", backward=False)
    e4m3 = specs_of("fp8_e4m3", "fp8_e4m3", "fp8_e4m3")
    run("forward_only", forward_only, starts["plain"], x, y, "gelu", arrays)
    run("gelu_emulated", e4m3, starts["plain"], x, y, "gelu_emulated", arrays)
    run("swiglu_emulated", e4m3, starts["gated"], x, y, "swiglu", arrays)
    for f in ("e4m3", "e5m2", "e2m1"):
        mx_ops._shared_exponents = bumped(formats[f])
        run("bump_" + f, specs_of(*3 * (formats[f],)), starts["plain"], x, y, "gelu", arrays)
    mx_ops._shared_exponents = plain_shared_exponents
    np.savez_compressed(sys.argv[2], **arrays)
    for name, value in arrays.items():
        print(name, value.dtype, value.shape)


main()
