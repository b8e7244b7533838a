// Operands on several devices: every operator refuses them in torch's words, whichever operand it is, in every form.
import { describe, expect, test } from "bun:test";
import schema from "../../generated/ops.json";
import * as z from "../../src/index.ts";
import { empty, nn, ones, type Tensor, TensorDict, tensor, zeros } from "../../src/index.ts";

const meta = (...shape: number[]) => empty(shape, { device: "meta" });
const indices = (...shape: number[]) => empty(shape, { device: "meta", dtype: "int64" });
const SAME =
  /^Expected all tensors to be on the same device, but found at least two devices, (cpu and meta|meta and cpu)!$/;

const refused: Record<string, () => unknown> = {
  "in place": () => ones(1, 5).mul_(meta(1, 5)),
  "in place, the other way": () => meta(5).mul_(ones(5)),
  comparison: () => ones(5).gt_(meta(5)),
  logic: () => ones(5).logicalAnd_(meta(5)),
  copysign: () => ones(5).copysign_(meta(5)),
  "an element of meta is no number": () => ones(5).add(meta()),
  clamp: () => ones(5).clamp_(meta(5)),
  fill: () => ones(5).fill_(meta()),
  matmul: () => ones(512, 512).matmul(meta(512, 512)),
  "matmul, the other way": () => meta(512, 512).matmul(ones(512, 512)),
  bmm: () => ones(2, 3, 3).bmm(meta(2, 3, 3)),
  mseLoss: () => nn.functional.mseLoss(ones(5), meta(5)),
  layerNorm: () => nn.functional.layerNorm(ones(2, 5), [5], { weight: meta(5), bias: meta(5) }),
  "Linear on meta": () => new nn.Linear(4, 4, { device: "meta" })(ones(1, 4)),
  "Linear of meta": () => new nn.Linear(4, 4)(meta(1, 4)),
  gather: () => ones(5).gather(0, indices(2)),
  "indexPut of values": () => ones(5).indexPut_([tensor([1n, 2n])], meta(2)),
  cat: () => z.cat([ones(5), meta(5)]),
  stack: () => z.stack([meta(5), ones(5)]),
  out: () => z.add(ones(5), ones(5), { out: meta(5) }),
  "out of several": () => z.sort(ones(5), { out: [meta(5), indices(5)] as never }),
  TensorDict: () => new TensorDict({ a: ones(5) }, []).mul_(new TensorDict({ a: meta(5) }, []) as never),
};

describe("refused", () => {
  for (const [name, call] of Object.entries(refused)) test(name, () => expect(call).toThrow(SAME));
});

test("values of meta tensors are refused, geometry is not", () => {
  for (const call of [() => ones(5).copy_(meta(5)), () => ones(5).setAt("0:2", meta(2))]) {
    expect(call).toThrow("Cannot copy out of meta tensor; no data!");
  }
  expect(meta(5).copy_(ones(5)).isMeta).toBe(true);
  expect([...ones(2, 5).viewAs(meta(5, 2)).shape]).toEqual([5, 2]);
  expect(meta(5).add(ones(1).squeeze()).isMeta).toBe(true);
  expect([...meta(5).at(tensor([1n])).shape]).toEqual([1]);
  expect(meta(5).dataPtr()).toBe(0);
});

test("indices of another device are refused in words of their own", () => {
  const text = "indices should be either on cpu or on the same device as the indexed tensor (cpu)";
  expect(() => ones(5).at(indices(2))).toThrow(text);
  expect(() => ones(5).indexPut_([indices(2)], ones(2))).toThrow(text);
});

test("gradients, data and storages stay on their device", () => {
  const x = ones(5, { requiresGrad: true });
  expect(() => x.mul(2).backward(meta(5))).toThrow("invalid gradient at index 0 - expected device cpu but got meta");
  expect(() => {
    x.grad = meta(5);
  }).toThrow("attempting to assign a gradient with device type 'meta' to a tensor with device type 'cpu'");
  expect(() => {
    x.data = meta(5);
  }).toThrow("incompatible tensor type");
  expect(() => zeros(5).set_(meta(5))).toThrow('on device "cpu" to a storage on different device "meta"');
  x.registerHook(() => meta(5));
  expect(() => x.mul(2).sum().backward()).toThrow(
    "hook '<lambda>' has changed the type of value (was torch.FloatTensor got MetaFloatType)",
  );
});

test("modules move to another device as other parameters", () => {
  const layer = new nn.Linear(2, 3);
  const { weight } = layer;
  layer.weight.grad = ones(3, 2);
  layer.to("meta");
  expect([layer.weight.isMeta, layer.weight === weight, layer.weight.grad?.isMeta]).toEqual([true, false, true]);
  expect(layer.double().weight.dtype).toBe(z.float64);
});

interface Row {
  name: string;
  args: [name: string, role: string, ...rest: string[]][];
  variants: string[];
  internal?: boolean;
}

const VALUES: Record<string, unknown> = {
  Dim: 0,
  Int: 0,
  Scalar: 1,
  Float: 0.5,
  Bool: false,
  String: "add",
  "Scalar?": null,
};
const TENSORS = ["Tensor", "Tensor?", "Tensor|Scalar", "Tensor|Scalar?", "Tensor|Index", "TensorList"];

/** Only the shape of the other operand counts, or bytes are copied from one device to the other. */
const GEOMETRY = /Like$|As$|^(copy|set|to|isSetTo)$/;

/** Operands that suit most operators: one of them, or its result, is on the other device. */
function operandsFor({ args }: Row, odd: number, kind: (i: number) => Tensor): unknown[] {
  let seen = 0;
  return args.map(([, role]) => {
    if (!TENSORS.includes(role)) return role in VALUES ? VALUES[role] : null;
    const own = kind(seen++ === odd ? 1 : 0);
    const x = role === "Tensor|Index" ? own.to("int64") : own;
    return role === "TensorList" ? [x, kind(odd === 0 ? 0 : 1)] : x;
  });
}

test("every operator with several operands refuses each of them", () => {
  const silent: string[] = [];
  let tried = 0;
  for (const op of schema as unknown as Row[]) {
    const tensors = op.args.filter(([, role]) => TENSORS.includes(role));
    if (op.internal || tensors.length < 2 || GEOMETRY.test(op.name)) continue;
    const names = [op.name, ...(op.variants.includes("inplace") ? [`${op.name}_`] : [])];
    for (const [odd] of tensors.entries()) {
      for (const shape of [[4], [4, 4], [4, 4, 4]]) {
        const given = operandsFor(op, odd, (i) => (i === 1 ? meta(...shape) : ones(shape)));
        for (const name of names) {
          const [self, ...others] = given;
          const method = (self as unknown as Record<string, unknown>)[name] as
            | ((...a: unknown[]) => unknown)
            | undefined;
          const fn = (z as unknown as Record<string, unknown>)[name] as ((...a: unknown[]) => unknown) | undefined;
          if (method === undefined && fn === undefined) continue;
          tried++;
          try {
            const result = method === undefined ? fn?.(...given) : method.apply(self, others);
            // Indices on the CPU are welcome to tensors without bytes.
            if (!(result as Tensor)?.isMeta) silent.push(`${name} ${shape} ${odd}`);
          } catch {
            // Refused, for one reason or another.
          }
        }
      }
    }
  }
  expect(silent).toEqual([]);
  expect(tried).toBeGreaterThan(400);
});

test("factories refuse a device that is not that of out, and sizes whose bytes cannot be counted", () => {
  const factories: Record<string, (options: object) => Tensor> = {
    empty: (o) => z.empty(3, o),
    "empty in another order": (o) => z.empty([1, 1, 1, 1], { memoryFormat: z.channelsLast, ...o }),
    zeros: (o) => zeros(3, o),
    full: (o) => z.full([3], 1, o),
    arange: (o) => z.arange(3, o),
    linspace: (o) => z.linspace(0, 1, 3, o),
    eye: (o) => z.eye(3, o),
    randn: (o) => z.randn(3, o),
    normal: (o) => z.normal(0, 1, [3], o),
  };
  const there = "device type meta does not match device type of out parameter (cpu)";
  const here = "device type cpu does not match device type of out parameter (meta)";
  for (const [name, make] of Object.entries(factories)) {
    expect(() => make({ out: z.empty(0), device: "meta" }), name).toThrow(there);
    expect(() => make({ out: meta(0), device: "cpu" }), name).toThrow(here);
    expect(make({ out: meta(0) }).isMeta, name).toBe(true);
  }
  const both = { out: z.empty(0), device: "meta", dtype: "float64" } as const;
  expect(() => zeros(3, both)).toThrow("dtype Double does not match dtype of out parameter (Float)");
  const huge = [2 ** 40, 2 ** 40];
  const overflow = "Storage size calculation overflowed with sizes=[1099511627776, 1099511627776]";
  for (const device of ["cpu", "meta"] as const) expect(() => z.empty(huge, { device })).toThrow(overflow);
  for (const make of [z.zeros, z.rand]) expect(() => make(huge)).toThrow(overflow);
  expect(() => ones(1).newEmpty(huge)).toThrow(overflow);
});
