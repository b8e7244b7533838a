// Tensors that belong to a batch as a whole.
import { afterAll, expect, test } from "bun:test";
import {
  arange,
  cat,
  lazyStack,
  ones,
  setWarningPolicy,
  stack,
  TensorDict,
  tensor,
  toSafetensors,
  UnbatchedTensor,
  zeros,
} from "../../src/index.ts";
import { temporaryDirectory } from "./helpers.ts";

const temporary = temporaryDirectory();
afterAll(temporary.remove);

const made = () => new TensorDict({ table: new UnbatchedTensor(ones(7, 11)), b: zeros(4, 3) }, [4]);

test("indexing and changes of shape leave it alone, and tell it of the batch", () => {
  const td = made();
  const table = td.get("table");
  expect(table).toBeInstanceOf(UnbatchedTensor);
  for (const [part, batch] of [
    [td.at(0), []],
    [td.at("1:3"), [2]],
    [td.reshape(2, 2), [2, 2]],
    [td.unsqueeze(0), [1, 4]],
    [td.expand(2, 4), [2, 4]],
    [td.split(2)[0], [2]],
    [td.gather(0, tensor([1n, 0n])), [2]],
    [cat([td, td]), [8]],
    [stack([td, td], 1), [4, 2]],
    [td.sum(0), []],
  ] as [TensorDict, number[]][]) {
    const own = part.get("table") as UnbatchedTensor;
    expect([...own.shape]).toEqual([7, 11]);
    expect([...own.batchSize]).toEqual(batch);
    expect(own.dataPtr()).toBe(table.dataPtr());
  }
  expect([...(lazyStack([td, td], 1).get("table") as UnbatchedTensor).batchSize]).toEqual([4, 2]);
});

test("arithmetic and copies act on it and keep its class", () => {
  const td = made();
  const more = td.add(1);
  expect(more.get("table")).toBeInstanceOf(UnbatchedTensor);
  expect(more.get("table").sum().item()).toBe(154);
  expect(td.clone().get("table").dataPtr()).not.toBe(td.get("table").dataPtr());
  for (const one of [td.clone(), td.double(), td.apply((t) => t.neg()), td.eq(td), td.toTensordict(), td.to("cpu")]) {
    expect((one as TensorDict).get("table")).toBeInstanceOf(UnbatchedTensor);
  }
});

test("writing through an index writes it whole, and only when the source has it", () => {
  const td = made();
  td.setAt(0, new TensorDict({ b: ones(3) }, []));
  expect(td.get("table").sum().item()).toBe(77);
  td.setAt(0, new TensorDict({ table: new UnbatchedTensor(zeros(7, 11)) }, []));
  expect(td.get("table").sum().item()).toBe(0);
  expect(td.get("b").tolist()[0]).toEqual([1, 1, 1]);
  expect(() => td.setAt(0, new TensorDict({ table: new UnbatchedTensor(zeros(7, 10)) }, []))).toThrow();
});

test("it shares the memory of what it was made of, and gradients go where they would", () => {
  const x = arange(3).float();
  new UnbatchedTensor(x).mul_(2);
  expect(x.tolist()).toEqual([0, 2, 4]);
  const w = ones(2, { requiresGrad: true });
  const td = new TensorDict({ w: new UnbatchedTensor(w.mul(3)) }, [4]);
  td.get("w").sum().backward();
  expect(w.grad?.tolist()).toEqual([3, 3]);
  expect([...new UnbatchedTensor([1, 2], { batchSize: [5] }).batchSize]).toEqual([5]);
});

test("different ones are stacked with a warning, the first is kept", () => {
  const warnings: string[] = [];
  const listen = (w: Error) => warnings.push(w.message);
  process.on("warning", listen);
  setWarningPolicy("always");
  try {
    const both = stack([made(), made().zero_()]);
    expect(both.get("table").sum().item()).toBe(77);
  } finally {
    setWarningPolicy("once");
  }
  return new Promise<void>((done) =>
    setImmediate(() => {
      process.off("warning", listen);
      expect(warnings.filter((text) => text.startsWith("Stacking UnbatchedTensors"))).toHaveLength(1);
      done();
    }),
  );
});

test("files refuse it by name", () => {
  const folder = temporary.fresh();
  const td = made();
  for (const [save, done] of [
    [() => td.memmap(`${folder}/a`), "memory-mapped"],
    [() => td.consolidate({ filename: `${folder}/b` }), "consolidated"],
    [() => toSafetensors(td, `${folder}/c`), "saved"],
    [() => td.save(`${folder}/d.pt`), "memory-mapped"],
  ] as const) {
    expect(save).toThrow(`UnbatchedTensor entries cannot be ${done} yet, but 'table' is one.`);
  }
  expect(td.exclude("table").memmap(`${folder}/e`).keys()).toEqual(["b"]);
});

test("it prints with its own shape", () => {
  expect(String(made())).toContain("table: UnbatchedTensor(shape=torch.Size([7, 11])");
});
