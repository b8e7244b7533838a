// The elements of tensors as they are told of and compared: each exactly, whatever the layout.
import { empty } from "../../generated/functional.ts";
import { noGrad } from "../autograd/api.ts";
import { float32 } from "../tensor/dtype.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** Categories of dtypes. */
const FLOATING = 2;
const COMPLEX = 3;

/** A copy of the elements in order; floats of fewer than 64 bits as 32, complex numbers as pairs. */
export function elementsOf(t: Tensor): NodeJS.TypedArray {
  return noGrad(() => {
    const small = t.dtype.category === FLOATING && t.dtype.itemsize < 4;
    const copy = empty([...t._shape], { dtype: small ? float32 : t.dtype, device: "cpu" });
    return copy.copy_(t.detach()).typedArray();
  });
}

/** The shortest digits that give a number of 32 bits again. */
function shortest(x: number): string {
  for (let digits = 1; digits < 9; digits++) {
    const near = Number(x.toPrecision(digits));
    if (Math.fround(near) === x) return String(near);
  }
  return String(x);
}

/** The texts of all elements: what differs, differs in its text. */
export function elementTexts(t: Tensor): string[] {
  const elements = elementsOf(t);
  const text = (x: number | bigint): string => {
    if (Object.is(x, -0)) return "-0";
    return elements instanceof Float32Array ? shortest(x as number) : String(x);
  };
  const list = Array.from(elements as unknown as ArrayLike<number | bigint>, text);
  if (t.dtype.name === "bool") return list.map((x) => (x === "0" ? "false" : "true"));
  if (t.dtype.category !== COMPLEX) return list;
  return Array.from({ length: t._numel }, (_, i) => {
    const imaginary = list[2 * i + 1] as string;
    return `${list[2 * i]}${imaginary.startsWith("-") ? "" : "+"}${imaginary}j`;
  });
}

/** Whether two tensors of one dtype and shape have the same elements; nan is nan, and -0 is not 0. */
export function sameElements(a: Tensor, b: Tensor): boolean {
  const [x, y] = [elementsOf(a), elementsOf(b)];
  const bytes = (array: NodeJS.TypedArray) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  if (Buffer.compare(bytes(x), bytes(y)) === 0) return true;
  if (a.dtype.category < FLOATING) return false;
  for (let i = 0; i < x.length; i++) if (!Object.is(x[i], y[i])) return false;
  return true;
}
