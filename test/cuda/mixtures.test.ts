// Operands on several devices, in every operator: computed or refused, never read on the wrong side.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { rounds } from "../campaign.ts";
import { evaluate, runProgram } from "../ffi/child.ts";
import { available, driverLibrary } from "./standin-driver.ts";

const driver = available ? driverLibrary() : "";
const program = join(import.meta.dir, "mixtures-program.ts");

test.if(available)(
  "every operator, with its tensors in several places",
  () => {
    const done = runProgram([process.execPath, program, String(rounds(6, 40))], { ZENSOR_LIBCUDA: driver });
    expect([done.exitCode, done.signal, done.exitCode === 0 ? "" : done.stderr]).toEqual([0, null, ""]);
    const { wrong, count } = JSON.parse(done.stdout) as { wrong: string[]; count: number };
    expect(wrong).toEqual([]);
    expect(count).toBeGreaterThan(700);
  },
  240_000,
);

/** What an expression prints, or says. */
function said(expression: string): string {
  const code = `const f = () => { try { return String(${expression}); } catch (e) { return e.message; } };
    const { ones, tensor } = z; const gpu = (...x) => tensor(x).cuda(); const one = (x) => tensor(x).cuda();
    console.log(JSON.stringify(f()))`;
  return evaluate(code, { ZENSOR_LIBCUDA: driver }) as string;
}

const REFUSED = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!";
/** What is refused by functions of torch that compare devices themselves. */
const refused = (argument: string, common: string, checker: string): string =>
  `Expected all tensors to be on the same device, but got ${argument}, different from other tensors on ${common} ` +
  `(when checking argument in method wrapper_CUDA_${checker})`;

test.if(available).each([
  ["tensor(1).eq(one(1))", "tensor(True, device='cuda:0')"],
  ["tensor(1).add(one(2))", "tensor(3., device='cuda:0')"],
  ["tensor(1).div(one(2))", "tensor(0.5000, device='cuda:0')"],
  ["tensor(2).requiresGrad_().mul(one(3)).gradFn", "<MulBackward0>"],
  ["(() => { const w = tensor(2).requiresGrad_(); w.mul(one(3)).backward(); return w.grad; })()", "tensor(3.)"],
  ["gpu(1, 1).fill_(tensor(3))", "tensor([3., 3.], device='cuda:0')"],
  ["gpu(1, 2).indexPut([tensor([0n])], tensor(7))", "tensor([7., 2.], device='cuda:0')"],
  ["z.equal(tensor(1), one(1))", refused("other is on cuda:0", "cpu", "_equal")],
  ["z.stack([tensor(1), one(1)])", refused("tensors is on cuda:0", "cpu", "cat")],
  ["z.isin(tensor(1), gpu(1))", refused("test_elements is on cuda:0", "cpu", "isin_Tensor_Tensor")],
  ["z.searchsorted(gpu(1, 2), tensor(1))", refused("self is on cpu", "cuda:0", "Tensor_searchsorted")],
  ["tensor(1).mul_(one(2))", REFUSED],
])("single elements on the CPU beside tensors on a device: %s", (expression, text) => {
  expect(said(expression)).toBe(text);
});
