// The Python program beside us: found, started once, and asked for one sample at a time.
import { join } from "node:path";
import type { Clock, Side } from "./case.ts";

/** The interpreter with torch, or null: $ZENSOR_BENCH_PYTHON, else python3. */
export function findPython(): string | null {
  for (const candidate of [process.env.ZENSOR_BENCH_PYTHON, "python3"]) {
    if (!candidate) continue;
    const path = Bun.which(candidate) ?? candidate;
    try {
      const probe = Bun.spawnSync([path, "-c", "import importlib.util as u; exit(u.find_spec('torch') is None)"]);
      if (probe.exitCode === 0) return path;
    } catch {
      // Not a program: try the next one.
    }
    if (candidate === process.env.ZENSOR_BENCH_PYTHON) throw new Error(`${candidate} cannot import torch`);
  }
  return null;
}

type Reply = { error?: string; seconds?: number; note?: string; versions?: string };

/** A long-lived Python child: one JSON line in, one JSON line out. */
export class Peer {
  readonly #child;
  readonly #lines: AsyncIterator<string>;

  constructor(python: string) {
    this.#child = Bun.spawn([python, "-u", join(import.meta.dir, "peers", "bench_torch.py")], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
      env: {
        ...process.env,
        OMP_NUM_THREADS: "1",
        MKL_NUM_THREADS: "1",
        PYTHONWARNINGS: "ignore",
      },
    });
    this.#lines = lines(this.#child.stdout);
  }

  async #ask(request: object): Promise<Reply> {
    this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    await this.#child.stdin.flush();
    const next = await this.#lines.next();
    if (next.done) throw new Error("the Python program ended");
    return JSON.parse(next.value) as Reply;
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
        this.#child.stdin.write(`${JSON.stringify({ do: "dispose" })}\n`);
      },
    };
  }

  async close(): Promise<void> {
    this.#child.stdin.end();
    await this.#child.exited;
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
