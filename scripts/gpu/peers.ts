// Others that do the same work on the same device: PyTorch, where some Python has it, and cuBLAS, where it is found.
// Each is a process of its own, which is asked for one sample at a time; a crash there is a missing number here.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Asked } from "../../bench/peer.ts";
import type { Theirs } from "./timing.ts";

/** A Python whose torch sees a device. */
function pythonWithCuda(): string | null {
  for (const candidate of [process.env.ZENSOR_ORACLE_PYTHON, "python3"]) {
    const path = candidate ? Bun.which(candidate) : null;
    if (path === null) continue;
    const test = "import torch; raise SystemExit(0 if torch.cuda.is_available() else 1)";
    if (Bun.spawnSync([path, "-c", test], { stdout: "ignore", stderr: "ignore", timeout: 60_000 }).exitCode === 0)
      return path;
  }
  return null;
}

const LIBRARIES = ["libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"];

/** Where libcublas may lie: the loader's own places come first, by its plain name. */
function cublasFiles(python: string | null): string[] {
  const folders = ["/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu", `${process.env.CUDA_HOME ?? ""}/lib64`];
  if (python !== null) {
    const code = "import torch, os; print(os.path.join(os.path.dirname(os.path.dirname(torch.__file__)), 'nvidia'))";
    const place = Bun.spawnSync([python, "-c", code]).stdout.toString().trim();
    if (existsSync(place)) folders.push(...readdirSync(place).map((name) => join(place, name, "lib")));
  }
  const found = folders.flatMap((folder) => LIBRARIES.map((name) => join(folder, name))).filter(existsSync);
  return [...LIBRARIES, ...found];
}

export class Peers {
  #torch: Asked | null = null;
  #cublas: Asked | null = null;
  /** What was found, for the facts. */
  readonly found: { torch: string | null; cublas: string | null } = { torch: null, cublas: null };

  /** Looks for both; with the stand-in for neither, as they would not run there. */
  static async find(emulated: boolean, folder: string): Promise<Peers> {
    const peers = new Peers();
    if (emulated) return peers;
    const python = pythonWithCuda();
    if (python !== null) {
      peers.#torch = new Asked([python, "-u", join(folder, "bench", "peers", "gpu_torch.py")]);
      peers.found.torch = await peers.#versions(peers.#torch);
      if (peers.found.torch === null) peers.#torch = null;
    }
    const env = { ZENSOR_CUBLAS: JSON.stringify(cublasFiles(python)) };
    peers.#cublas = new Asked([process.execPath, join(folder, "bench", "peers", "gpu-cublas.ts")], true, env);
    peers.found.cublas = await peers.#versions(peers.#cublas);
    if (peers.found.cublas === null) peers.#cublas = null;
    return peers;
  }

  async #versions(asked: Asked): Promise<string | null> {
    try {
      const { versions } = await asked.hello;
      return typeof versions === "string" ? versions : null;
    } catch {
      return null;
    }
  }

  /** A statement of PyTorch's, or null. */
  async torch(setup: string, statement: string): Promise<Theirs | null> {
    return this.#prepare(this.#torch, { setup, statement });
  }

  /** A product of square matrices. */
  async product(dtype: string, size: number): Promise<Theirs | null> {
    return this.#prepare(this.#cublas, { dtype, size });
  }

  async #prepare(asked: Asked | null, request: object): Promise<Theirs | null> {
    if (asked === null) return null;
    try {
      const reply = await asked.ask(request);
      if (reply.error !== undefined) return null;
    } catch {
      return null;
    }
    return async (n) => {
      try {
        const { seconds } = await asked.ask({ n });
        return typeof seconds === "number" ? seconds : Number.NaN;
      } catch {
        return Number.NaN;
      }
    };
  }

  async close(): Promise<void> {
    for (const asked of [this.#torch, this.#cublas]) await asked?.close().catch(() => undefined);
  }
}
