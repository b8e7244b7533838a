// PyTorch's names that are spelled otherwise here, are elsewhere, or are not there yet: calls say which.
import * as jsc from "bun:jsc";
import { expect, test } from "bun:test";
import { MISSING } from "../../generated/missing.ts";
import { F, linalg, nn, ones, special, Tensor, TensorDict, tensor, zeros } from "../../src/index.ts";
import { thrown } from "../thrown.ts";

// biome-ignore lint/suspicious/noExplicitAny: names that are not there
type Any = any;
const x: Any = ones(2);
const td: Any = new TensorDict({ a: ones(2) }, [2]);
const layer: Any = new nn.Linear(1, 1);

test("what a call of a missing name says", () => {
  const end = (call: () => unknown) => thrown(call).replace(/^TypeError: .*is an instance of nothing: /, "");
  expect(end(() => x.index_select(0, 1))).toBe("index_select is indexSelect in zensor)");
  expect(end(() => x.stft(2))).toBe("zensor has no Tensor.stft yet)");
  expect(end(() => (F as Any).crossEntropy(x, x))).toBe("zensor has no F.cross_entropy yet)");
  expect(end(() => (F as Any).embedding(x))).toBe("zensor has no F.embedding yet)");
  expect(end(() => (linalg as Any).vector_norm(x))).toBe("vector_norm is vectorNorm in zensor)");
  expect(end(() => (special as Any).log_softmax(x, 0))).toMatch(/^log_softmax is /);
  expect(end(() => td.to_tensordict())).toBe("to_tensordict is toTensordict in zensor)");
  expect(end(() => td.from_dict({}))).toBe("from_dict is the function TensorDict.fromDict of zensor)");
  expect(end(() => layer.state_dict())).toBe("state_dict is stateDict in zensor)");
  expect(thrown(() => x.requires_grad)).toBe(
    "AttributeError: 'Tensor' object has no attribute 'requires_grad': it is requiresGrad here",
  );
  expect(thrown(() => Object.assign(x, { requires_grad: true }))).toContain("it is requiresGrad here");
  expect(thrown(() => td.batch_size)).toContain("it is batchSize here");
  expect(thrown(() => x.nothing(1))).toContain("'x.nothing' is undefined");
  expect(thrown(() => (F as Any).nothing(1))).toContain("undefined");
});

test("looking whether something is there goes on working", async () => {
  expect([typeof x.stft, typeof (F as Any).gridSample, "gridSample" in F, "then" in x, x.then, x.$$typeof]).toEqual([
    "object",
    "object",
    false,
    false,
    undefined,
    undefined,
  ]);
  expect(await x).toBe(x);
  expect(JSON.stringify([x, td.get("a")])).toBe("[[1,1],[1,1]]");
  for (const thing of [x, td, layer, F])
    for (const key in thing) expect(key).not.toMatch(/stft|index_select|state_dict/);
  expect([`${F}`, Object.keys(F).includes("gridSample"), x instanceof Tensor, x.constructor]).toEqual([
    "[object Object]",
    false,
    true,
    Tensor,
  ]);
  for (const thing of [x, td, layer, F]) expect(thing instanceof Object).toBe(true);
  // What stands at the ends of chains leaves arrays as they are.
  expect((jsc as unknown as { describe(value: unknown): string }).describe([1, 2])).not.toContain("SlowPut");
  expect(Object.hasOwn(x, "dtype")).toBe(true);
  const named: Any = zeros(1);
  named.stft = 3;
  named.name = "weight";
  expect([named.stft, named.name, (zeros(1) as Any).name]).toEqual([3, "weight", undefined]);
});

test("no name of F that is there is told as missing", () => {
  const listed = (MISSING.F as string).split(" ").map((word) => word.replace(/=.*/, ""));
  expect(listed.filter((name) => Object.hasOwn(F, name))).toEqual([]);
});

test("every name leads where it says", () => {
  const owners: Record<string, Any> = {
    Tensor: Tensor.prototype,
    TensorDict: TensorDict.prototype,
    Module: nn.Module.prototype,
    F,
    linalg,
    special,
  };
  for (const [owner, words] of Object.entries(MISSING)) {
    for (const word of words.split(" ")) {
      const place = word.slice(word.indexOf("=") + 1);
      if (place.startsWith("."))
        expect(`${owner}${place} ${place.slice(1) in owners[owner]}`).toBe(`${owner}${place} true`);
    }
  }
});

test("names of options, dtypes and devices that are called something else here", () => {
  expect(thrown(() => tensor([1], { requires_grad: true } as never))).toContain(
    "'requires_grad', which is called 'requiresGrad' here",
  );
  expect(thrown(() => tensor([1], { colour: 1 } as never))).toBe(
    "TypeError: tensor() got an unexpected keyword argument 'colour'",
  );
  expect(thrown(() => ones(2).to("fp16" as never))).toBe(
    'TypeError: unknown dtype "fp16": it is called "float16" here',
  );
  expect(thrown(() => ones(2, { dtype: "bf16" as never }))).toContain('it is called "bfloat16" here');
  for (const name of ["gpu", "mps", "gpu:1"]) {
    expect(thrown(() => ones(2).to(name as never))).toContain("no device that is there: these are cpu, cuda and meta");
  }
  expect(thrown(() => ones(2, { dtype: "f7" as never }))).toBe('TypeError: unknown dtype "f7"');
  expect(thrown(() => ones(2, { dtype: "undefinedundefined" as never }))).toContain("unknown dtype");
});
