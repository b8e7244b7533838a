// The tensorclasses that Python's example files were saved from.
import { Tensor } from "../../src/tensor/tensor.ts";
import { registerTensorClass, tensorclass } from "../../src/tensordict/index.ts";

const MODULE = "td_example_classes";

/** Two tensors with a label. */
export class Point extends tensorclass({ x: Tensor, y: Tensor, label: String }, { pythonName: `${MODULE}.Point` }) {}

/** A tensorclass inside another one. */
export class Box extends tensorclass(
  { p: () => Point, w: Tensor, meta: null, opt: Tensor },
  { pythonName: `${MODULE}.Box` },
) {}

registerTensorClass(Point);
registerTensorClass(Box);
