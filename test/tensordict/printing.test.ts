// Printed text, as Python's tensordict gives it in its detailed and its compact form.
import "../../src/install.ts";
import { expect, test } from "bun:test";
import { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import {
  LazyStackedTensorDict,
  MetaData,
  NonTensorStack,
  setTensorDictPrintoptions,
  TensorDict,
  tensorclass,
} from "../../src/tensordict/index.ts";

class P extends tensorclass({ x: Tensor, label: String, y: Tensor }) {}

test("detailed: nested, values, alphabetical order", () => {
  const td = new TensorDict({ s: "x", a: zeros([2]), n: { b: 1n } });
  expect(String(td)).toBe(`TensorDict(
    fields={
        a: Tensor(shape=torch.Size([2]), device=cpu, dtype=torch.float32, is_shared=False),
        n: TensorDict(
            fields={
                b: Tensor(shape=torch.Size([]), device=cpu, dtype=torch.int64, is_shared=False)},
            batch_size=torch.Size([]),
            device=None,
            is_shared=False),
        s: NonTensorData(data=x, batch_size=torch.Size([]), device=None)},
    batch_size=torch.Size([]),
    device=None,
    is_shared=False)`);
});

test("detailed: stacks of values and empty levels", () => {
  const td = new TensorDict({ s: new NonTensorStack(["a", "b"]), m: new MetaData(1) }, [2]);
  expect(String(td)).toBe(`TensorDict(
    fields={
        m: MetaData(data=1, batch_size=torch.Size([2]), device=None),
        s: NonTensorStack(
            ['a', 'b'],
            batch_size=torch.Size([2]),
            device=None)},
    batch_size=torch.Size([2]),
    device=None,
    is_shared=False)`);
  expect(String(new TensorDict({}, [2]))).toBe(`TensorDict(
    fields={
    },
    batch_size=torch.Size([2]),
    device=None,
    is_shared=False)`);
  expect(String(new TensorDict({ a: {} }, [2]))).toBe(`TensorDict(
    fields={
        a: TensorDict(
            fields={
            },
            batch_size=torch.Size([2]),
            device=None,
            is_shared=False)},
    batch_size=torch.Size([2]),
    device=None,
    is_shared=False)`);
});

const lazy = () =>
  new LazyStackedTensorDict([
    new TensorDict({ a: 1, z: zeros([1]) }) as unknown as Td,
    new TensorDict({ a: 2 }) as unknown as Td,
  ]);

test("detailed: lazy stacks with their exclusive entries and ragged shapes", () => {
  expect(String(lazy())).toBe(`LazyStackedTensorDict(
    fields={
        a: Tensor(shape=torch.Size([2]), device=cpu, dtype=torch.float32, is_shared=False)},
    exclusive_fields={
        0 ->
            z: Tensor(shape=torch.Size([1]), device=cpu, dtype=torch.float32, is_shared=False)},
    batch_size=torch.Size([2]),
    device=None,
    is_shared=False,
    stack_dim=0)`);
  const ragged = TensorDict.lazyStack([
    new TensorDict({ a: zeros([3, 1]), n: { c: 1n } }) as unknown as Td,
    new TensorDict({ a: zeros([4, 1]), n: { c: 1n } }) as unknown as Td,
  ]);
  expect(String(ragged)).toBe(`LazyStackedTensorDict(
    fields={
        a: Tensor(shape=torch.Size([2, -1, 1]), device=cpu, dtype=torch.float32, is_shared=False),
        n: LazyStackedTensorDict(
            fields={
                c: Tensor(shape=torch.Size([2]), device=cpu, dtype=torch.int64, is_shared=False)},
            exclusive_fields={
            },
            batch_size=torch.Size([2]),
            device=None,
            is_shared=False,
            stack_dim=0)},
    exclusive_fields={
    },
    batch_size=torch.Size([2]),
    device=None,
    is_shared=False,
    stack_dim=0)`);
});

test("detailed: tensorclasses", () => {
  expect(String(new P({ x: zeros([2, 3]), label: "s" }, { batchSize: [2] }))).toBe(`P(
    label=NonTensorData(data=s, batch_size=torch.Size([2]), device=None),
    x=Tensor(shape=torch.Size([2, 3]), device=cpu, dtype=torch.float32, is_shared=False),
    y=None,
    batch_size=torch.Size([2]),
    device=None,
    is_shared=False)`);
});

test("compact", () => {
  using _ = setTensorDictPrintoptions({ compact: true });
  expect(String(new TensorDict({ a: zeros([2, 3]), n: { b: zeros([2]) } }, [2]))).toBe(
    "TensorDict(batch_size=[2], fields={a: f32[3], n: {b: f32[]}})",
  );
  expect(String(new TensorDict({}))).toBe("TensorDict(batch_size=[], fields={})");
  expect(String(lazy())).toBe(`LazyStackedTensorDict(batch_size=[2], stack_dim=0, fields={
    a: f32[]}, exclusive_fields={0: {z: f32[1]}})`);
  const ragged = TensorDict.lazyStack([
    new TensorDict({ a: zeros([3, 1]) }) as unknown as Td,
    new TensorDict({ a: zeros([4, 1]) }) as unknown as Td,
  ]);
  expect(String(ragged)).toBe("LazyStackedTensorDict(batch_size=[2], stack_dim=0, fields={a: f32[-1,1]})");
  const p = new P({ x: zeros([2, 3]), label: "s" }, { batchSize: [2] });
  expect(String(new TensorDict({ p, n: { c: zeros([2]) } }))).toBe(`TensorDict(batch_size=[], fields={
    n: {c: f32[2]},
    p: P[2]{label: str, x: f32[3], y: None}})`);
  expect(String(new TensorDict({ i: new MetaData(1), s: "x", t: tensor(true) }))).toBe(
    "TensorDict(batch_size=[], fields={i: MetaData, s: str, t: bool[]})",
  );
});

test("options", () => {
  using _ = setTensorDictPrintoptions({
    showFieldIsShared: false,
    showIsShared: false,
    showFieldDevice: false,
  });
  expect(String(new TensorDict({ a: 1 }))).toBe(`TensorDict(
    fields={
        a: Tensor(shape=torch.Size([]), dtype=torch.float32)},
    batch_size=torch.Size([]),
    device=None)`);
});
