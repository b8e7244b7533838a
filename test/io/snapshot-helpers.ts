// What the tests of snapshots share: a folder, and the directories that Python's library wrote.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { tensor } from "../../src/tensordict/core/tensor-ops.ts";
import examples from "../fixtures/tensordict/snapshots.json" with { type: "json" };

/** A folder for one test file; call `remove` at the end. */
export class Room {
  readonly path = mkdtempSync(join(tmpdir(), "zensor-snapshot-"));
  private count = 0;

  /** A path that nothing has yet. */
  fresh(): string {
    return join(this.path, String(this.count++));
  }

  /** A copy of one of Python's examples. */
  unpack(name: string): string {
    const root = this.fresh();
    for (const [file, base64] of Object.entries((examples as Record<string, Record<string, string>>)[name] ?? {})) {
      mkdirSync(dirname(join(root, file)), { recursive: true });
      writeFileSync(join(root, file), Buffer.from(base64, "base64"));
    }
    return root;
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** The numbers from 0 to n - 1. */
export function counting(n: number, dtype = "float32"): Tensor {
  return tensor(Array.from({ length: n }, (_, i) => i)).to(dtype as "uint8");
}
