import { Float, Int } from "../tensor/complex.ts";
import * as D from "../tensor/dtype.ts";
import { Storage } from "../tensor/storage.ts";
import { makeContiguous, Tensor } from "../tensor/tensor.ts";
export function zeros(shape: any, o: any = {}): any {
  const dt = o.dtype ? D.toDType(o.dtype) : D.float32;
  const t: any = makeContiguous(
    Storage.allocate(shape.reduce((a: number, b: number) => a * b, dt.itemsize)),
    [...shape],
    dt,
  );
  return t._numel ? t.zero_() : t;
}
export function full(shape: any, v: any): any {
  return (zeros(shape, { dtype: typeof v === "boolean" ? "bool" : "float32" }) as any).fill_(v);
}
export function tensor(value: any): any {
  if (value instanceof Tensor) return value;
  if (ArrayBuffer.isView(value)) {
    const n = (value as any).constructor.name;
    const dt = (
      { Float64Array: "float64", Float32Array: "float32", Int32Array: "int32", Uint8Array: "uint8" } as any
    )[n];
    const t = zeros([(value as any).length], { dtype: dt });
    [...(value as any)].forEach((x: any, i: number) => t.select(0, i).fill_(x));
    return t;
  }
  const shape: number[] = [];
  let l: any = value;
  while (Array.isArray(l)) {
    shape.push(l.length);
    l = l[0];
  }
  const f = Array.isArray(value) ? (value as any).flat(64) : [value];
  const k =
    f.every((x: any) => typeof x === "boolean") && f.length
      ? "bool"
      : f.every((x: any) => typeof x === "bigint" || x instanceof Int) && f.length
        ? "int64"
        : "float32";
  const t = zeros([f.length], { dtype: k });
  f.forEach((x: any, i: number) =>
    t.select(0, i).fill_(x instanceof Int || x instanceof Float ? x.value : x),
  );
  return t.view(shape);
}
(globalThis as any).__tensor = tensor;
export function stackTensors(ts: any, d: number): any {
  const s = [...ts[0]._shape];
  s.splice(d, 0, ts.length);
  const o = zeros(s, { dtype: ts[0].dtype });
  ts.forEach((t: any, i: number) => o.select(d, i).copy_(t));
  return o;
}
export function catTensors(ts: any, d: number): any {
  const s = [...ts[0]._shape];
  s[d] = ts.reduce((a: number, t: any) => a + t._shape[d], 0);
  const o = zeros(s, { dtype: ts[0].dtype });
  let at = 0;
  ts.forEach((t: any) => {
    o.narrow(d, at, t._shape[d]).copy_(t);
    at += t._shape[d];
  });
  return o;
}
export function flatNumbers(t: any): number[] {
  const l = t.reshape([-1]).tolist();
  return Array.isArray(l) ? l : [l];
}
