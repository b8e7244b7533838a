// Products: exact where sums of whole numbers are, then of square matrices, operations a second. They are by zensor's
// own kernels: cuBLAS, where it is found, is measured beside them.
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

const precisionOf = (name: Name): "high" | "highest" => (name === "tf32" ? "high" : "highest");

/** Batches, rows, columns and terms: few tiles and long sums, and enough tiles of the largest kind for any device. */
const SHAPES = {
  full: [
    [1, 136, 264, 4104],
    [3, 1288, 2056, 200],
    [1, 100, 60, 33],
  ],
  small: [[1, 72, 40, 24]],
} as const;

/** Which products of whole numbers are wrong, in all directions in which factors lie. */
function inexact(run: Run, name: Name): string[] {
  const wrong: string[] = [];
  const dtype = DTYPES[name];
  const generator = new z.Generator().manualSeed(5);
  const across = (t: z.Tensor): z.Tensor => t.mT.contiguous().mT;
  for (const [batch, m, n, k] of run.small ? SHAPES.small : SHAPES.full) {
    const whole = (...shape: number[]): z.Tensor => z.randint(-4, 5, shape, { generator }).to(dtype);
    const [a, b] = [whole(batch, m, k), whole(batch, k, n)];
    const wanted = a.to("float32").bmm(b.to("float32")).to(dtype);
    for (const [i, left] of [a, across(a)].entries()) {
      for (const [j, right] of [b, across(b)].entries()) {
        const made = left.to("cuda").bmm(right.to("cuda")).cpu();
        if (!z.equal(made, wanted)) wrong.push(`${name} ${batch}x${m}x${n}x${k} ${i}${j}`);
      }
    }
  }
  return wrong;
}

export const products: Part = async (run) => {
  const names = Object.keys(DTYPES) as Name[];
  const wrong: string[] = [];
  for (const name of names) {
    z.setFloat32MatmulPrecision(precisionOf(name));
    wrong.push(...inexact(run, name));
  }
  run.results.record.memory["products of whole numbers that are wrong"] = wrong;
  const last = new Map<Name, Row>();
  for (const size of run.small ? SIZES.small : SIZES.full) {
    for (const name of names) {
      z.setFloat32MatmulPrecision(precisionOf(name));
      try {
        last.set(name, await row(run, name, size, last.get(name)));
      } finally {
        z.setFloat32MatmulPrecision("highest");
      }
    }
  }
  return wrong.length > 0 ? { state: "failed", note: `wrong: ${wrong.join(", ")}` } : undefined;
};
