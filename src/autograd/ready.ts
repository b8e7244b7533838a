/**
 * Nodes that have all their gradients, the node that was made last first. Most come in the order in which they were
 * made (the inputs of a `stack`, an accumulator after its product): those lie in a row whose end is the greatest, and
 * only the others in a binary heap.
 */
import type { Node } from "./node.ts";

export class ReadyNodes {
  private readonly row: Node[] = [];
  private readonly heap: Node[] = [];

  get size(): number {
    return this.row.length + this.heap.length;
  }

  push(node: Node): void {
    const { row, heap } = this;
    const end = row.length;
    if (end === 0 || (row[end - 1] as Node).sequence <= node.sequence) {
      row.push(node);
      return;
    }
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
    const { row, heap } = this;
    const end = row.length;
    if (end > 0) {
      const last = row[end - 1] as Node;
      if (heap.length === 0 || last.sequence >= (heap[0] as Node).sequence) {
        row.pop();
        return last;
      }
    }
    return this.popHeap();
  }

  private popHeap(): Node {
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
