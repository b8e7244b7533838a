// What a tensor is, as a record: device, dtype and shape.
import type { Tensor } from "../../tensor/tensor.ts";
import { tensorclass } from "./tensorclass.ts";

/** What may be asked of a tensor. */
export type TensorField = "device" | "dtype" | "shape";

/** Device, dtype and shape of a tensor; null for what was not asked for. @torch tensordict.TensorAttrs */
export class TensorAttrs extends tensorclass(
  { tgtDevice: null, tgtDtype: null, tgtShape: null },
  { pythonName: "tensordict.tensorclass.TensorAttrs" },
) {
  /** What a tensor is. */
  static fromTensor(t: Tensor, options: { fields?: readonly TensorField[] } = {}): TensorAttrs {
    const { fields = ["device", "dtype", "shape"] } = options;
    const has = (name: TensorField) => fields.includes(name);
    const given = {
      ...(has("device") ? { tgtDevice: t.device } : {}),
      ...(has("dtype") ? { tgtDtype: t.dtype } : {}),
      ...(has("shape") ? { tgtShape: t.shape } : {}),
    };
    return new TensorAttrs(given, { batchSize: [] });
  }
}
