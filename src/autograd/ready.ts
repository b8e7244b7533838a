/** Nodes that have all their gradients: a binary heap, the node that was made last on top. */
import type { Node } from "./node.ts";

export class ReadyNodes {
  private readonly heap: Node[] = [];

  get size(): number {
    return this.heap.length;
  }

  push(node: Node): void {
    const { heap } = this;
    let at = heap.length;
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = heap[up] as Node;
      if (parent.sequence >= node.sequence) break;
      heap[at] = parent;
      at = up;
    }
    heap[at] = node;
  }

  /** Leaves' accumulators come first: their number is the greatest. */
  pop(): Node {
    const { heap } = this;
    const top = heap[0] as Node;
    const last = heap.pop() as Node;
    const n = heap.length;
    if (n === 0) return top;
    let at = 0;
    for (let down = 1; down < n; down = 2 * at + 1) {
      if (down + 1 < n && (heap[down + 1] as Node).sequence > (heap[down] as Node).sequence) down++;
      const child = heap[down] as Node;
      if (last.sequence >= child.sequence) break;
      heap[at] = child;
      at = down;
    }
    heap[at] = last;
    return top;
  }
}
