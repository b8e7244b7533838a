// Parameters of modules as TensorDicts.
import "../../src/install.ts";
import { expect, test } from "bun:test";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { TensorDict } from "../../src/tensordict/index.ts";

function fake() {
  const child = {
    _parameters: new Map<string, Tensor | null>([
      ["weight", tensor([1, 2])],
      ["bias", null],
    ]),
    _buffers: new Map<string, Tensor | null>([["mean", zeros([2])]]),
    _modules: new Map<string, never>(),
  };
  const empty = { _parameters: new Map(), _buffers: new Map(), _modules: new Map() };
  return {
    _parameters: new Map<string, Tensor | null>(),
    _buffers: new Map(),
    _modules: new Map([
      ["0", child],
      ["1", empty],
    ]),
  };
}

test("parameters and buffers by name, without empty modules, locked", () => {
  const module = fake();
  const td = TensorDict.fromModule(module as never) as unknown as Td;
  expect(td.keys({ includeNested: true, leavesOnly: true })).toEqual([
    ["0", "weight"],
    ["0", "mean"],
  ]);
  expect(td.isLocked).toBe(true);
});

test("put into a module for a while", () => {
  const module = fake();
  const params = (TensorDict.fromModule(module as never).clone() as unknown as Td).zero_();
  const slot = () =>
    (module._modules.get("0") as { _parameters: Map<string, Tensor> })._parameters.get("weight") as Tensor;
  const before = slot();
  {
    using former = params.toModule(module as never);
    expect(slot().tolist()).toEqual([0, 0]);
    expect(former.at(["0", "weight"])).toBe(before);
  }
  expect(slot()).toBe(before);
});

test("a key that the module does not have changes nothing", () => {
  const module = fake();
  const params = new TensorDict({ "0": { weight: zeros([2]), wrong: zeros([1]) } }) as unknown as Td;
  const before = (module._modules.get("0") as { _parameters: Map<string, Tensor> })._parameters.get("weight");
  expect(() => params.toModule(module as never)).toThrow("the module has no parameter or buffer 'wrong'");
  expect((module._modules.get("0") as { _parameters: Map<string, Tensor> })._parameters.get("weight")).toBe(
    before as Tensor,
  );
});
