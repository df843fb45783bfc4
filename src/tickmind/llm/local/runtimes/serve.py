"""Serve weights with the `xllamacpp` package, under the options of llama.cpp's own server. Run as a script.

It lives in a process of its own, so that native code can take nothing but itself down.
"""

import argparse
import importlib
import signal
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Load the weights, print where the server listens, and serve until a signal ends the process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--package-folder", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--alias", required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--parallel", type=int, required=True)
    parser.add_argument("--ctx-size", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--slot-save-path", default="")
    parser.add_argument("--cache-ram", type=int, required=True)
    parser.add_argument("--api-key-file", type=Path, required=True)
    options = parser.parse_args(arguments)

    sys.path.insert(0, options.package_folder)
    runtime = importlib.import_module("xllamacpp")
    params = runtime.CommonParams()
    params.model.path = options.model
    params.model_alias = {options.alias}
    params.hostnames = [options.host]
    params.port = options.port
    params.n_parallel = options.parallel
    params.n_ctx = options.ctx_size
    params.kv_unified = False  # each slot has its own share of the context
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    params.slot_save_path = options.slot_save_path
    params.cache_ram_mib = options.cache_ram
    params.api_keys = [options.api_key_file.read_text("utf-8").strip()]
    params.cors_origins = ""
    params.endpoint_slots = False
    params.ui = False
    params.offline = True
    # Fitting reads the weights' tables once more, to share layers between a graphics card and the processor.
    params.fit_params = [device["name"] for device in runtime.get_device_info()] != ["CPU"]
    server = runtime.Server(params)
    print(f"listening on {server.listening_address}", flush=True)  # noqa: T201 - the parent reads it
    while True:
        signal.pause()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
