// What is known of the entries of a tree together: shapes over stacks, gradients in one pass.
import { backward } from "../../autograd/api.ts";
import { KeyError, RuntimeError } from "../../tensor/errors.ts";
import { Size, sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { keyPath, keyText } from "../core/keys.ts";
import { isLazy, shapeOf, type Td } from "../core/state.ts";
import type { NestedKey } from "../core/types.ts";
import { findEntry, tensorsOf } from "./access.ts";
import { requireOutline } from "./writes.ts";

/** The shape of an entry; of a stack whose members differ -1 where they do. */
export function itemShape(td: Td, key: NestedKey): Size {
  if (!isLazy(td)) {
    const [first, ...rest] = keyPath(key) as [string, ...string[]];
    const inner = rest.length > 0 ? td._own(first) : undefined;
    if (inner !== undefined && "getItemShape" in inner) return (inner as Td).getItemShape(rest);
    return shapeOf(requireOutline(td, key)[2]);
  }
  const shapes = td.members.map((member) => itemShape(member, key) as readonly number[]);
  const first = shapes[0] as readonly number[];
  if (shapes.some((shape) => shape.length !== first.length)) return Size.fromList([-1]);
  const common = first.map((n, dim) => (shapes.every((shape) => shape[dim] === n) ? n : -1));
  common.splice(td.stackDim, 0, shapes.length);
  return Size.fromList(common);
}

/** How `backward` runs. */
export interface TdBackwardOptions {
  /** Keep the graph for another pass. */
  retainGraph?: boolean;
  /** Record the pass itself, for gradients of gradients. */
  createGraph?: boolean;
}

/** The gradients of all tensors that have a graph, in one pass. */
export function backwardTd(td: Td, gradient: Td | null, options: TdBackwardOptions): void {
  const found = [...tensorsOf(td)].filter(([, t]) => t.requiresGrad);
  if (found.length === 0) {
    throw new RuntimeError("backward() cannot be called on a tensordict that has no leaf tensor requiring gradients.");
  }
  const gradients = found.map(([path, t]) => {
    const name = path.length === 1 ? `'${path[0]}'` : keyText(path);
    if (gradient === null) {
      if (t._numel === 1) return null;
      throw new RuntimeError(
        `grad can be implicitly created only for scalar outputs: the leaf at key ${name} has shape ` +
          `(${t._shape.join(", ")}${t.ndim === 1 ? "," : ""}). Pass a gradient tensordict matching the structure of ` +
          "this tensordict to backward().",
      );
    }
    const own = findEntry(gradient, path);
    if (!(own instanceof Tensor)) {
      throw new KeyError(`Missing gradient entry for key ${name} in the gradient tensordict passed to backward().`);
    }
    if (sameSizes(own._shape, t._shape)) return own;
    throw new RuntimeError(
      `Mismatch in shape: the gradient at key ${name} has shape ${own.shape} but the corresponding leaf has shape ` +
        `${t.shape}.`,
    );
  });
  backward(
    found.map(([, t]) => t),
    gradients,
    { ...options },
  );
}
