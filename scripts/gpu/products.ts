// Products of square matrices: operations a second.
import * as z from "../../src/index.ts";
import { isLate, measured, type Part, type Run } from "./parts.ts";
import type { Row } from "./results.ts";

const SIZES = { full: [512, 1024, 2048, 4096, 8192], small: [8, 40] } as const;

const DTYPES = { f32: "float32", tf32: "float32", bf16: "bfloat16", f16: "float16", f64: "float64" } as const;

type Name = keyof typeof DTYPES;

/** Longest call that is waited for. */
const MOST_SECONDS = 4;

const setup = (name: Name, size: number): string =>
  `torch.backends.cuda.matmul.allow_tf32 = ${name === "tf32" ? "True" : "False"}
f = dict(device='cuda', dtype=torch.${DTYPES[name]})
x, y, out = (torch.ones(${size}, ${size}, **f) for _ in range(3))`;

async function row(run: Run, name: Name, size: number, before: Row | undefined): Promise<Row> {
  const described: Row = { name: `${size} × ${size}`, dtype: name, elements: size * size, operations: 2 * size ** 3 };
  const expected = (before?.seconds ?? 0) * (size ** 3 / (before === undefined ? 1 : before.operations! / 2));
  const note = (text: string): Row => {
    const made = { ...described, note: text };
    run.results.add("products", made);
    return made;
  };
  if (expected > MOST_SECONDS) return note("too slow to be waited for");
  if (before?.note?.startsWith("no kernel")) return note(before.note);
  const ask = !isLate(run);
  const theirs = ask ? await run.peers.torch(setup(name, size), "torch.mm(x, y, out=out)") : null;
  const cublas = ask ? await run.peers.product(name, size) : null;
  return measured(run, "products", described, () => {
    const options = { device: "cuda", dtype: DTYPES[name] } as const;
    const [x, y, out] = [0, 1, 2].map(() => z.ones(size, size, options)) as [z.Tensor, z.Tensor, z.Tensor];
    return {
      body() {
        z.mm(x, y, { out });
        return undefined;
      },
      theirs,
      cublas,
      dispose() {
        for (const t of [x, y, out]) t.dispose();
      },
    };
  });
}

export const products: Part = async (run) => {
  const names = Object.keys(DTYPES) as Name[];
  const last = new Map<Name, Row>();
  for (const size of run.small ? SIZES.small : SIZES.full) {
    for (const name of names) {
      z.setFloat32MatmulPrecision(name === "tf32" ? "high" : "highest");
      try {
        last.set(name, await row(run, name, size, last.get(name)));
      } finally {
        z.setFloat32MatmulPrecision("highest");
      }
    }
  }
  return undefined;
};
