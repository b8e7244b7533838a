// Boxes of a tensor: whether pieces fill it exactly.

/** A part of a tensor: where it begins in every dimension, and how far it goes. */
export interface Box {
  offsets: readonly number[];
  sizes: readonly number[];
}

/** Elements of a box. */
export function boxVolume(sizes: readonly number[]): number {
  return sizes.reduce((product, n) => product * n, 1);
}

function overlap(a: Box, b: Box): boolean {
  return a.offsets.every((from, i) => {
    const other = b.offsets[i] as number;
    return from < other + (b.sizes[i] as number) && other < from + (a.sizes[i] as number);
  });
}

/** The dimension in which the boxes begin at the most different places. */
function widest(boxes: readonly Box[], rank: number): number {
  let best = 0;
  let most = 0;
  for (let dim = 0; dim < rank; dim++) {
    const places = new Set(boxes.map(({ offsets }) => offsets[dim])).size;
    if (places > most) [best, most] = [dim, places];
  }
  return best;
}

/** True when no two boxes share an element. */
function areApart(boxes: readonly Box[], rank: number): boolean {
  const dim = widest(boxes, rank);
  const from = (box: Box) => box.offsets[dim] as number;
  const sorted = [...boxes].sort((a, b) => from(a) - from(b));
  // Boxes that reach beyond the place where the current one begins.
  let open: Box[] = [];
  for (const box of sorted) {
    open = open.filter((other) => from(other) + (other.sizes[dim] as number) > from(box));
    if (open.some((other) => overlap(other, box))) return false;
    open.push(box);
  }
  return true;
}

/** True when the boxes cover every element of a shape exactly once. */
export function fillExactly(shape: readonly number[], boxes: readonly Box[]): boolean {
  const filled = boxes.filter(({ sizes }) => boxVolume(sizes) > 0);
  const inside = filled.every(
    ({ offsets, sizes }) =>
      offsets.length === shape.length &&
      sizes.length === shape.length &&
      offsets.every((n, i) => n + (sizes[i] as number) <= (shape[i] as number)),
  );
  if (!inside || filled.reduce((sum, { sizes }) => sum + boxVolume(sizes), 0) !== boxVolume(shape)) return false;
  return shape.length === 0 || areApart(filled, shape.length);
}
