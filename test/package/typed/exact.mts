// With exactOptionalPropertyTypes what is named is given: undefined is refused.
import { load, long, nested, nn, ones, TensorDict, tensor, zeros } from "zensor";

const missing = undefined;
export const calls = [
  () => zeros(2, { dtype: long }),
  // @ts-expect-error undefined is no dtype
  () => zeros(2, { dtype: missing }),
  // @ts-expect-error undefined is no dtype
  () => zeros([2], { dtype: missing }),
  // @ts-expect-error undefined is no dtype
  () => tensor([1], { dtype: missing }),
  // @ts-expect-error undefined is no dtype
  () => ones(2).sum({ dtype: missing }),
  // @ts-expect-error undefined is no dtype
  () => ones(2).to({ dtype: missing }),
  // @ts-expect-error undefined is no device
  () => ones(2, { device: missing }),
  // @ts-expect-error undefined is no dtype
  () => nested.nestedTensor([[1]], { dtype: missing }),
  // @ts-expect-error undefined is no dtype
  () => new nn.Linear(1, 1, { dtype: missing }),
  // @ts-expect-error undefined is no device
  () => new TensorDict({ a: ones(2) }, [2], { device: missing }),
  // @ts-expect-error undefined is no dtype
  () => new TensorDict({ a: ones(2) }).to({ dtype: missing }),
  // @ts-expect-error undefined is no device
  () => load("x", { device: missing }),
];
