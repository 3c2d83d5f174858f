#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the original golden vectors into the archives of this folder.

Usage: python3 pack.py DIR

DIR holds the originals: conversions/, tensor_cores/model/ and tensor_cores/hw/, one .npy per array,
each with a manifest.json. The archives and the two compact manifests are written beside this script. Needs
numpy. The same input gives the same bytes (with the same zlib).
"""
import hashlib
import itertools
import json
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
MAX_BYTES = 1 << 20

# Archive of a conversion array, by the longest matching prefix of its name.
ARCHIVES = {
    "decode_": "decode.npz",
    "pack_": "decode.npz",
    "swizzle_": "decode.npz",
    "enc_": "encode.npz",
    "encf64_": "encode.npz",
    "e8m0_": "encode.npz",
    "blk_": "blocks.npz",
    "tail_": "blocks.npz",
    "deepgemm_": "blocks.npz",
    "nvfp4_": "blocks.npz",
    "mxfp4_": "blocks.npz",
}
INPUTS = {"pack_f6_codes", "pack_f4_in", "swizzle_scale_in"}

# Archive of a tensor-core configuration, by the longest matching prefix of its name. d_bits and
# d_steps are results, the rest is input.
TENSOR_CORES = {
    "tcgen05_mxf8f6f4_": "tensor_cores.npz",
    "gemm_": "tensor_cores.npz",
    "tcgen05_": "tensor_cores_tcgen05.npz",
    "sm": "tensor_cores_mma.npz",
    "wgmma_": "tensor_cores_mma.npz",
    "cdna": "tensor_cores_amd.npz",
    "hw_": "tensor_cores_hw.npz",
}
RESULTS = {"d_bits", "d_steps"}
CONFIG_KEYS = ("gpu", "arch", "instruction", "model", "fmt_a", "fmt_b", "fmt_c", "fmt_d", "M", "N",
               "K", "step", "group", "scale_fmt", "block", "F", "F2", "e_zero", "out_rounding", "c",
               "rows", "source", "note")


def load(path, entry=None):
    if entry is not None:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != entry["sha256"]:
            sys.exit(f"{path}: its sha256 is {found}, the manifest says {entry['sha256']}")
    array = np.load(path)
    if array.dtype.byteorder == ">":
        sys.exit(f"{path}: big-endian")
    if entry is not None:
        found, wanted = [str(array.dtype), list(array.shape)], [entry["dtype"], entry["shape"]]
        if found != wanted:
            sys.exit(f"{path} is {found}, the manifest says {wanted}")
    return np.ascontiguousarray(array)


def describe(array):
    return {"dtype": str(array.dtype), "shape": list(array.shape),
            "sha256": hashlib.sha256(array.tobytes()).hexdigest()}


def runs(values):
    """[a, a, b] as [["a", 2], ["b", 1]]."""
    return [[key, len(list(group))] for key, group in itertools.groupby(values)]


def write_json(name, head, tables):
    """One line per entry of each table, so that a change is one line of a diff."""
    parts = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in head.items()]
    for table, rows in tables.items():
        lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in rows.items())
        parts.append(f"{json.dumps(table)}: {{\n{lines}\n}}")
    (HERE / name).write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def write_npz(name, arrays):
    path = HERE / name
    np.savez_compressed(path, **arrays)
    size = path.stat().st_size
    print(f"{name}: {len(arrays)} arrays, {size} bytes")
    if size >= MAX_BYTES:
        sys.exit(f"{name} is larger than {MAX_BYTES} bytes; split it")


def pack_conversions(folder):
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    archives, rows = {}, {}
    for entry in manifest["files"]:
        name = entry["file"].removesuffix(".npy")
        array = load(folder / entry["file"], entry)
        archive = ARCHIVES[max((p for p in ARCHIVES if name.startswith(p)), key=len)]
        archives.setdefault(archive, {})[name] = array
        row = {"archive": archive, **describe(array)}
        if name.endswith("_in") or name in INPUTS:
            row["input"] = True
        for key in ("modes", "content", "note", "notes"):
            if entry.get(key):
                row[key] = entry[key]
        if "classes" in entry:
            row["classes"] = runs(entry["classes"])
        if "modes" in row and len(row["modes"]) != array.shape[0]:
            sys.exit(f"{name}: {len(row['modes'])} modes for {array.shape[0]} rows")
        rows[name] = row
    unlisted = {p.stem for p in folder.glob("*.npy")} - rows.keys()
    if unlisted:
        sys.exit(f"not in the manifest: {sorted(unlisted)}")
    for archive, arrays in archives.items():
        write_npz(archive, arrays)
    head = {"about": "Conversions made by public libraries; see README.md. "
                     "sha256: of the raw data in C order.",
            "rounding_names": manifest["rounding_names"], "oracles": manifest["oracles"]}
    write_json("conversions.json", head, {"arrays": rows})


def pack_tensor_cores(folder):
    archives, configs, rows = {}, {}, {}
    for part in ("model", "hw"):
        manifest = json.loads((folder / part / "manifest.json").read_text(encoding="utf-8"))
        if part == "model":
            head = {"about": "Dot products and chained GEMMs of a public model of tensor cores, and "
                             "dot products measured on hardware (hw_*); see README.md."}
            for key in ("flags", "categories", "formats"):
                head[key] = manifest[key]
            head["contents"] = manifest["arrays"]
        for config in manifest["configs"] + manifest.get("gemm", []):
            name = config["name"]
            archive = TENSOR_CORES[max((p for p in TENSOR_CORES if name.startswith(p)), key=len)]
            configs[name] = {k: config[k] for k in CONFIG_KEYS if config.get(k) is not None}
            for path in sorted((folder / part / name).glob("*.npy")):
                array = load(path)
                member = f"{name}/{path.stem}"
                archives.setdefault(archive, {})[member] = array
                rows[member] = {"archive": archive, **describe(array)}
                if path.stem not in RESULTS:
                    rows[member]["input"] = True
    for archive, arrays in archives.items():
        write_npz(archive, arrays)
    head["contents"] = head["contents"] | {
        "gemm_*": "a_codes [M,K], b_codes [N,K], scale_a [M,K/block], scale_b [N,K/block], "
                  "d_steps [K/step,M,N] accumulator after each instruction, d_bits [M,N]; "
                  "C is zero",
        "hw_*": "a_codes, b_codes, c_bits, d_bits"}
    write_json("tensor_cores.json", head, {"configs": configs, "arrays": rows})


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    source = pathlib.Path(sys.argv[1])
    pack_conversions(source / "conversions")
    pack_tensor_cores(source / "tensor_cores")


if __name__ == "__main__":
    main()
