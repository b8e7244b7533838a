/** An input of a function that is differentiated inside of another: a tensor of its own, the outer one behind it. */
import { edgeOf, metaOf, setNode } from "../autograd/history.ts";
import { type Gradients, Node } from "../autograd/node.ts";
import type { Tensor } from "../tensor/tensor.ts";

export class Alias extends Node {
  override get name(): string {
    return "AliasBackward0";
  }
  /** To the function its inputs are leaves. */
  override get ofInput(): boolean {
    return true;
  }
  override apply(grads: Gradients): Gradients {
    return grads;
  }

  /** Makes `fresh` a result of `base`, whose bytes it has. */
  static connect(fresh: Tensor, base: Tensor): void {
    const node = new Alias();
    node.next = [edgeOf(base)];
    node.outputs = [metaOf(base)];
    setNode(fresh, node, 0);
  }
}
