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

/** Boxes may be cut in so many dimensions, */
const MOST_CUT = 6;
/** unless there are so few of them. */
const FEW_BOXES = 2048;

function overlap(a: Box, b: Box): boolean {
  return a.offsets.every((from, i) => {
    const other = b.offsets[i] as number;
    return from < other + (b.sizes[i] as number) && other < from + (a.sizes[i] as number);
  });
}

/**
 * True when boxes with as many elements as the shape share none. A box is the sum of what begins and ends at its
 * corners, with signs: where boxes meet these cancel each other out, and the corners of the shape are left. That takes
 * time in proportion to the number of boxes, whatever they look like.
 */
function areApart(shape: readonly number[], boxes: readonly Box[]): boolean {
  const cut = [...shape.keys()].filter((dim) => boxes.some(({ sizes }) => sizes[dim] !== shape[dim]));
  if (cut.length > MOST_CUT) {
    if (boxes.length > FEW_BOXES) return false;
    return boxes.every((box, i) => boxes.slice(i + 1).every((other) => !overlap(box, other)));
  }
  const corners = new Map<string, number>();
  const add = ({ offsets, sizes }: Box, weight: number) => {
    for (let corner = 0; corner < 1 << cut.length; corner++) {
      let sign = weight;
      const place = cut.map((dim, i) => {
        if (((corner >> i) & 1) === 0) return offsets[dim] as number;
        sign = -sign;
        return (offsets[dim] as number) + (sizes[dim] as number);
      });
      const key = place.join();
      const sum = (corners.get(key) ?? 0) + sign;
      if (sum === 0) corners.delete(key);
      else corners.set(key, sum);
    }
  };
  for (const box of boxes) add(box, 1);
  add({ offsets: shape.map(() => 0), sizes: shape }, -1);
  return corners.size === 0;
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
  return shape.length === 0 || filled.length === 0 || areApart(shape, filled);
}
