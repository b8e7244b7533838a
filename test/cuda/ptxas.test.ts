// What ptxas says of kernels is read, and kernels that put registers aside are found.
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { assemble, findPtxas, readVerbose, spilling } from "../../scripts/ptx/assemble.ts";
import { tableText } from "../../scripts/ptx/table.ts";
import { scratch } from "../ffi/child.ts";

const SAID = `ptxas info    : 168 bytes gmem, 8 bytes cmem[4]
ptxas info    : Compiling entry function 'sum_f32' for 'sm_80'
ptxas info    : Function properties for sum_f32
    96 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 96 bytes cumulative stack size, 1024 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 28.807 ms
ptxas info    : Function properties for load_any
    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function 'max_f32' for 'sm_80'
ptxas info    : Function properties for max_f32
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 20 registers, used 0 barriers, 400 bytes cmem[0]
`;

test("registers, stacks, spills and memory of blocks are read", () => {
  const uses = readVerbose(SAID);
  expect(uses).toEqual([
    { name: "sum_f32", isKernel: true, registers: 64, stack: 96, spills: 20, shared: 1024, code: 0 },
    { name: "load_any", isKernel: false, registers: 0, stack: 16, spills: 0, shared: 0, code: 0 },
    { name: "max_f32", isKernel: true, registers: 20, stack: 0, spills: 0, shared: 0, code: 0 },
  ]);
  const all = [{ family: "reduce", target: "sm_80" as const, uses }];
  expect(spilling(all)).toEqual(["sum_f32 (sm_80): 20 bytes of spills"]);
  expect(tableText(all, "12.9")).toContain("| reduce | 0 / 2 / 0 / 0 | 0 / 64 / 0 / 0 |");
});

/** Sums that all have to stay until the end, in 16 registers. */
function crowded(): string {
  const numbers = Array.from({ length: 40 }, (_, i) => i);
  return [
    ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry crowded(.param .u64 p)\n.maxnreg 16\n{",
    ".reg .b64 %a; .reg .b32 %x<41>;\nld.param.u64 %a, [p];",
    ...numbers.map((i) => `ld.volatile.global.u32 %x${i}, [%a+${4 * i}];`),
    ...numbers.map((i) => `st.volatile.global.u32 [%a+${4 * i}], %x${39 - i};`),
    "ret;\n}",
  ].join("\n");
}

describe.if(findPtxas() !== null)("ptxas", () => {
  test("assembles, and tells of spills", async () => {
    const file = join(scratch, "crowded.ptx");
    writeFileSync(file, crowded());
    const made = await assemble(findPtxas() as string, file, "sm_80");
    expect(made.uses[0]?.code).toBeGreaterThan(0);
    expect(spilling([made])).toHaveLength(1);
    writeFileSync(file, crowded().replace(".maxnreg 16", ""));
    expect(spilling([await assemble(findPtxas() as string, file, "sm_80")])).toEqual([]);
  }, 60_000);

  test("what it refuses is an error with its words", async () => {
    const file = join(scratch, "refused.ptx");
    writeFileSync(file, crowded().replace("ret;", "return;"));
    expect(assemble(findPtxas() as string, file, "sm_80")).rejects.toThrow("ptxas refuses refused for sm_80");
  }, 60_000);
});
