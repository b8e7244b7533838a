// What programs see of a CUDA device that fails: the stand-in is told to, and zensor says so in the driver's words.

import { describe, expect, test } from "bun:test";
import { buildStandin } from "../../scripts/standin.ts";
import { evaluate } from "../ffi/child.ts";
import { emulated } from "./standin-driver.ts";

const driver = emulated ? buildStandin() : "";

interface Caught {
  name?: string;
  code?: string;
  message?: string;
  value?: unknown;
}

/** What an expression gives, or its error, with a driver that fails as asked. */
function tried(expression: string, faults: string, more: Record<string, string> = {}): Caught {
  const code = `console.log(JSON.stringify(caught(() => ${expression})))`;
  return evaluate(code, { ZENSOR_LIBCUDA: driver, ZENSOR_STANDIN: faults, ...more }) as Caught;
}

const SUM = 'z.ones(5, { device: "cuda" }).add(z.ones(5, { device: "cuda" })).tolist()';

describe.skipIf(!emulated)("a device that fails", () => {
  test("and one that does not", () => {
    expect(tried(SUM, "").value).toEqual([2, 2, 2, 2, 2]);
  });

  test.each([
    ["lost=999", "CUDA error: unknown error"],
    ["init_error=803", "CUDA error: system has unsupported display driver / cuda driver combination"],
    ["fail_launch=1", "CUDA error: unspecified launch failure"],
    ["fail_launch=2,launch_error=700", "CUDA error: an illegal memory access was encountered"],
    ["fail_launch=1,launch_error=214", "CUDA error: uncorrectable ECC error encountered"],
  ])("%s", (faults, message) => {
    const error = tried(SUM, faults);
    expect([error.name, error.code]).toEqual(["RuntimeError", "cuda"]);
    expect(error.message).toBe(message);
    if (faults.startsWith("fail_launch")) {
      expect(tried(SUM, faults, { CUDA_LAUNCH_BLOCKING: "1" }).message).toBe(message);
    }
  });

  test.each(["out_of_memory", "allocations_left=0", "bytes_limit=10"])("%s", (faults) => {
    const error = tried(SUM, faults);
    expect([error.name, error.code]).toEqual(["OutOfMemoryError", "out_of_memory"]);
    expect(error.message).toContain("Tried to allocate 2.00 MiB");
  });

  test("no memory for what a kernel needs beside its operands: garbage is given back first", () => {
    const fill = "z.cuda.setPerProcessMemoryFraction(0.02); for (let i = 0; i < 60; i++) z.zeros(262144, on);";
    const sort = "z.zeros(3 << 20, on).sort(0).values.at(0).item()";
    const made = tried(`{ const on = { device: "cuda" }; ${fill} return ${sort}; }`, "");
    expect(made).toEqual({ value: 0 });
    const large = tried(`{ const on = { device: "cuda" }; ${fill} return z.zeros(8 << 20, on).sort(0); }`, "");
    expect([large.name, large.code]).toEqual(["OutOfMemoryError", "out_of_memory"]);
  });

  test.each(["refuse_module=218", "capability=70", "version=9020"])("kernels that are refused: %s", (faults) => {
    const error = tried(SUM, faults);
    expect(error.code).toBe("cuda_ptx");
    expect(error.message).toContain("the driver refused the kernel");
    expect(error.message).toContain("emulated CUDA");
  });

  test("after a fault every further use fails, too", () => {
    const code = `[1, 2].map(() => caught(() => ${SUM})).map((e) => e.message ?? e.value)`;
    const made = tried(code, "fail_launch=1").value as string[];
    expect(made).toEqual(Array(2).fill("CUDA error: unspecified launch failure"));
  });
});

/** What users do beside computing, each in words of its own. */
const USES: Readonly<Record<string, string>> = {
  pinned: "z.ones(5, { pinMemory: true }).isPinned()",
  stream: "new z.cuda.Stream().query()",
  event: "new z.cuda.Event().record()",
  move: 'new z.TensorDict({ a: z.ones(5), b: z.ones(2) }, []).to("cuda").cpu().get("a").tolist()',
  backward: `(() => {
    const w = z.ones(5, { device: "cuda" }).requiresGrad_();
    w.mul(2).backward(z.ones(5, { device: "cuda" }));
    return w.grad.tolist(); })()`,
  limit: "z.cuda.setPerProcessMemoryFraction(0.5)",
  cache: '(z.ones(5, { device: "cuda" }), z.cuda.emptyCache(), z.cuda.synchronize())',
};

/** What may be said, by fault. */
const FAULTS: readonly (readonly [string, RegExp])[] = [
  ["lost=999", /^CUDA error: unknown error$/],
  ["init_error=100", /^No CUDA GPUs are available$/],
  ["devices=0", /^No CUDA GPUs are available$/],
  ["init_error=803", /^CUDA error: system has unsupported display driver/],
  ["out_of_memory", /out of memory/],
  ["allocations_left=0", /out of memory/],
  ["fail_launch=1", /^CUDA error: unspecified launch failure$/],
  ["fail_launch=1,launch_error=700,later=1", /^CUDA error: an illegal memory access was encountered$/],
  ["refuse_module=218", /^the driver refused the kernel/],
];

describe.skipIf(!emulated)("whatever is asked of a device that fails", () => {
  test.each(FAULTS)("%s: one clear error, and the program lives", (faults, words) => {
    const uses = Object.values(USES).map((use) => `() => ${use}`);
    const code = `
      const said = [${uses.join(",")}].map((f) => caught(f));
      const text = caught(() => z.cuda.memorySummary());
      const after = z.ones(3).add(1).tolist();
      console.log(JSON.stringify([said, text.value?.includes("memory summary"), after]))`;
    const made = evaluate(code, { ZENSOR_LIBCUDA: driver, ZENSOR_STANDIN: faults }) as [Caught[], boolean, number[]];
    const [said, summary, after] = made;
    expect([summary, after]).toEqual([true, [2, 2, 2]]);
    const errors = said.filter((one) => one.message !== undefined);
    for (const error of errors) {
      expect(error.message).toMatch(words);
      expect(["RuntimeError", "OutOfMemoryError", "NotImplementedError"]).toContain(error.name as string);
    }
    expect(errors.length).toBeGreaterThan(0);
  });

  test("a device that is lost midway", () => {
    const code = `
      const { dlopen, FFIType, ptr } = await import("bun:ffi");
      const { zsStandinControl: control } = dlopen(process.env.ZENSOR_LIBCUDA, {
        zsStandinControl: { args: [FFIType.ptr, FFIType.u64], returns: FFIType.i32 } }).symbols;
      const x = z.ones(5, { device: "cuda" });
      const p = z.ones(5, { pinMemory: true });
      const s = new z.cuda.Stream();
      const y = z.cuda.stream(s, () => x.add(1));
      x.recordStream(s);
      x.copy_(p, true);
      control(ptr(Buffer.from("lost\\0")), 999n);
      const said = [() => x.add(1), () => x.tolist(), () => p.to("cuda"), () => s.synchronize(), () => String(y),
        () => z.cuda.synchronize(), () => z.cuda.emptyCache()].map((f) => caught(f).message);
      for (const t of [x, y, p]) t.dispose();
      Bun.gc(true);
      console.log(JSON.stringify([said, z.ones(2).add(1).tolist()]))`;
    const made = evaluate(code, { ZENSOR_LIBCUDA: driver });
    expect(made).toEqual([Array(7).fill("CUDA error: unknown error"), [2, 2]]);
  });
});
