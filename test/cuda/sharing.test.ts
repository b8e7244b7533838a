// Memory of devices for other processes and other libraries: what is given away, and what is refused. Emulated.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { buildStandin } from "../../scripts/standin.ts";
import { evaluate } from "../ffi/child.ts";
import { emulated } from "./standin-driver.ts";

const driver = emulated ? buildStandin() : "";

const HEAD = `
  const { TensorDict, ones, arange, cuda } = z;
  process.env.ZENSOR_INDEX = ${JSON.stringify(join(import.meta.dir, "../../src/index.ts"))};
  /** What another process sees of handles, each with some of its fields changed. */
  const elsewhere = (...handles) => {
    const lines = \`
      const z = await import(process.env.ZENSOR_INDEX);
      const seen = \${JSON.stringify(handles)}.map((h) => {
        try { return z.cuda.openIpc(h).tolist(); } catch (e) { return e.name + ": " + e.message; }
      });
      console.log(JSON.stringify(seen));\`;
    return JSON.parse(Bun.spawnSync([process.execPath, "-e", lines], { env: process.env }).stdout.toString());
  };
`;

const value = (body: string): unknown =>
  evaluate(`${HEAD} const f = () => { ${body} }; console.log(JSON.stringify(f()))`, { ZENSOR_LIBCUDA: driver });

describe.if(emulated)("another process", () => {
  test("sees the parts of a consolidated TensorDict, also once its storage has grown", () => {
    const body = `
      const parts = new TensorDict({ a: ones(1, { dtype: "float64" }), b: arange(6).to("int16"), c: arange(3) }, []);
      const td = parts.consolidate().to("cuda");
      const [a, b, c] = ["a", "b", "c"].map((key) => td.get(key));
      const first = elsewhere(...[a, b, c].map((t) => cuda.ipcHandle(t)));
      a.untypedStorage().resize_(4 * 2 ** 20);
      const side = new cuda.Stream();
      b.recordStream(side);
      return [first, elsewhere(cuda.ipcHandle(c.at("1:")), cuda.ipcHandle(b.at("4:")))];`;
    expect(value(body)).toEqual([
      [[1], [0, 1, 2, 3, 4, 5], [0, 1, 2]],
      [
        [1, 2],
        [4, 5],
      ],
    ]);
  }, 60_000);

  test("is refused what no tensor can be, or lies behind the memory", () => {
    const body = `
      const x = arange(8, { dtype: "float32" }).cuda();
      const good = cuda.ipcHandle(x);
      const changes = [{}, { offset: 2 ** 40 }, { offset: good.offset + 2 }, { offset: -4 }, { offset: 0.5 },
        { shape: [2 ** 30] }, { shape: [-1] }, { shape: [2.5] }, { shape: [2 ** 52, 2 ** 52], strides: [2 ** 52, 1] },
        { shape: [2 ** 52, 2 ** 52], strides: [0, 0] }, { strides: [2 ** 40] }, { strides: [-1] }, { shape: [3, 3] },
        { size: undefined }, { handle: "" }, { shape: [2], offset: good.size - 8 },
        { shape: [3], offset: good.size - 8 }, { size: 2 ** 40, offset: 2 ** 30 }];
      return elsewhere(...changes.map((change) => ({ ...good, ...change })));`;
    const given = "ValueError: openIpc: what ipcHandle() gave in another process is wanted";
    const seen = value(body) as unknown[];
    expect(seen.slice(0, 2)).toEqual([
      [0, 1, 2, 3, 4, 5, 6, 7],
      `ValueError: the tensor ends at byte ${2 ** 40 + 32} of memory that has 32`,
    ]);
    expect(seen.slice(2)).toEqual([
      "ValueError: the address 2 is not that of an element of torch.float32",
      given,
      given,
      `ValueError: the tensor ends at byte ${2 ** 32} of memory that has 32`,
      "ValueError: shape must be a list of integers that are not negative",
      "ValueError: shape must be a list of integers that are not negative",
      `ValueError: no memory has a tensor of sizes [${2 ** 52},${2 ** 52}] with strides [${2 ** 52},1]`,
      `ValueError: no memory has a tensor of sizes [${2 ** 52},${2 ** 52}] with strides [0,0]`,
      `ValueError: the tensor ends at byte ${7 * 2 ** 42 + 4} of memory that has 32`,
      "ValueError: strides must be a list of integers that are not negative",
      "ValueError: 2 sizes have 1 strides",
      given,
      given,
      [6, 7],
      "ValueError: the tensor ends at byte 36 of memory that has 32",
      `ValueError: the tensor ends at byte ${2 ** 30 + 32} of memory that has ${2 ** 21}`,
    ]);
  }, 60_000);

  test("is given no tensor that was disposed, or is read as another one", () => {
    const body = `
      const gone = ones(2, { device: "cuda" });
      gone.dispose();
      const conj = ones(2, { device: "cuda", dtype: "complex64" }).conj();
      const record = () => gone.recordStream(cuda.currentStream());
      return [() => cuda.ipcHandle(gone), record, () => cuda.ipcHandle(conj)].map((f) => {
        const { name, message } = caught(f);
        return name + ": " + message;
      });`;
    expect(value(body)).toEqual([
      "DisposedError: this tensor was disposed",
      "DisposedError: this tensor was disposed",
      "RuntimeError: Can't export tensors with the conjugate bit set",
    ]);
  });
});

test.if(emulated)("an address is good for as long as somebody has its object", () => {
  const body = `
    const seen = [];
    for (const device of ["cpu", "cuda"]) for (const n of [3, 3000]) {
      const x = ones(n, { device });
      const there = z.scope(() => cuda.toPointer(x));
      x.dispose();
      const other = z.full([n], 7, { device });
      const y = cuda.fromPointer(there);
      seen.push(y.add(1).sum().item() === 2 * n, other.sum().item() === 7 * n);
      const wide = { ...there, shape: [2 ** 52, 2 ** 52], strides: [0, 0] };
      seen.push(caught(() => cuda.fromPointer(wide)).name);
    }
    return seen;`;
  expect(value(body)).toEqual(Array.from({ length: 4 }, () => [true, true, "ValueError"]).flat());
});
