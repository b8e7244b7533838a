// Views may have more elements than memory has room for: what would list them says so at once, with an error of ours.
import { expect, test } from "bun:test";
import { empty, errors, repeatInterleave, type Tensor, tensor, type UntypedStorage, zeros } from "../../src/index.ts";

const HUGE = 2 ** 40;
const many = (): Tensor => zeros(1).expand(HUGE);

const CALLS: Readonly<Record<string, () => unknown>> = {
  tolist: () => many().tolist(),
  "tolist of 2 ** 33": () =>
    zeros(1)
      .expand(2 ** 33)
      .tolist(),
  "tolist of a storage": () => (empty(2 ** 33, { device: "meta" }).untypedStorage() as UntypedStorage).tolist(),
  split: () => many().split(1),
  unbind: () => many().unbind(),
  chunk: () => zeros(0, 3).chunk(HUGE),
  tensorSplit: () => many().tensorSplit(HUGE),
  repeatInterleave: () => tensor([1]).repeatInterleave(tensor([HUGE]).long()),
  positions: () => repeatInterleave(tensor([HUGE]).long()),
};

for (const [name, call] of Object.entries(CALLS)) {
  test(name, () => {
    let thrown: unknown;
    try {
      call();
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(errors.RuntimeError);
    expect(String(thrown)).toMatch(/too (many|long)|can't allocate/);
  });
}
