// What programs see of a CUDA device that fails: the stand-in is told to, and zensor says so in the driver's words.

import { describe, expect, test } from "bun:test";
import { buildStandin } from "../../scripts/standin.ts";
import { evaluate } from "../ffi/child.ts";
import { available } from "./standin-driver.ts";

const driver = available ? buildStandin() : "";

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

describe.skipIf(!available)("a device that fails", () => {
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
