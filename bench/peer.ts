// The Python program beside us: found, started once, and asked for one sample at a time.
import { join } from "node:path";
import type { Clock, Side } from "./case.ts";

/** The interpreter with torch, or null: the one that the environment names, else python3. */
export function findPython(variable = "ZENSOR_BENCH_PYTHON"): string | null {
  for (const candidate of [process.env[variable], "python3"]) {
    if (!candidate) continue;
    const path = Bun.which(candidate) ?? candidate;
    try {
      const probe = Bun.spawnSync([path, "-c", "import importlib.util as u; exit(u.find_spec('torch') is None)"]);
      if (probe.exitCode === 0) return path;
    } catch {
      // Not a program: try the next one.
    }
    if (candidate === process.env[variable]) throw new Error(`${candidate} cannot import torch`);
  }
  return null;
}

type Reply = { error?: string; seconds?: number; note?: string; versions?: string };

/** A long-lived child, of Python mostly: one JSON line in, one JSON line out. */
export class Asked {
  readonly #child;
  readonly #lines: AsyncIterator<string>;
  /** What it says before it is asked. */
  readonly hello: Promise<Record<string, unknown>>;

  constructor(words: string[], greets = true, env: Record<string, string> = {}) {
    this.#child = Bun.spawn(words, {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
      env: {
        ...process.env,
        OMP_NUM_THREADS: "1",
        MKL_NUM_THREADS: "1",
        PYTHONWARNINGS: "ignore",
        ...env,
      },
    });
    this.#lines = lines(this.#child.stdout);
    this.hello = greets ? this.#next() : Promise.resolve({});
  }

  async #next(): Promise<Record<string, unknown>> {
    const next = await this.#lines.next();
    if (next.done) throw new Error("the Python program ended");
    return JSON.parse(next.value) as Record<string, unknown>;
  }

  async ask(request: object): Promise<Record<string, unknown>> {
    await this.hello;
    this.tell(request);
    await this.#child.stdin.flush();
    return this.#next();
  }

  /** What has no answer. */
  tell(request: object): void {
    this.#child.stdin.write(`${JSON.stringify(request)}\n`);
  }

  async close(): Promise<void> {
    this.#child.stdin.end();
    await this.#child.exited;
  }
}

/** The Python side of benchmarks. */
export class Peer {
  readonly #asked: Asked;

  constructor(python: string) {
    this.#asked = new Asked([python, "-u", join(import.meta.dir, "peers", "bench_torch.py")], false);
  }

  async #ask(request: object): Promise<Reply> {
    return (await this.#asked.ask(request)) as Reply;
  }

  async versions(): Promise<string> {
    return (await this.#ask({ do: "versions" })).versions ?? "";
  }

  /** Prepares a case there, by its name or by its code; a string tells why it cannot run. */
  async side(name: string, clock: Clock, code?: readonly [setup: string, statement: string]): Promise<Side | string> {
    const reply = await this.#ask({ do: "prepare", name, clock, code });
    if (reply.error !== undefined) return reply.error;
    return {
      note: reply.note,
      run: async (n) => {
        const { seconds, error } = await this.#ask({ do: "run", n });
        if (seconds === undefined) throw new Error(`${name}: ${error}`);
        return seconds;
      },
      dispose: () => {
        this.#asked.tell({ do: "dispose" });
      },
    };
  }

  close(): Promise<void> {
    return this.#asked.close();
  }
}

async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of stream) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
}
