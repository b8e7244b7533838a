// Tensors that a program may have at hand when something has gone wrong: on the meta device, over storages that were
// resized, over arrays that were transferred, disposed, and ordinary ones in every layout.
import * as z from "../../src/index.ts";
import { empty, fromTypedArray, type Tensor, tensor } from "../../src/index.ts";
import type { Choices } from "../fuzz/choices.ts";

const DTYPES = ["float32", "float64", "int64", "int32", "bool", "uint8", "float16", "bfloat16", "complex64"] as const;
const SHAPES = [[], [1], [3], [4], [0], [1, 4], [4, 4], [2, 3], [3, 1], [2, 3, 4], [1, 1], [200], [20, 20]];

function values(choices: Choices): Tensor {
  const shape = choices.pick(SHAPES);
  const dtype = choices.pick(DTYPES);
  const x = z.arange(shape.reduce((n, s) => n * s, 1)).reshape([...shape]);
  return x.to(dtype);
}

/** The same elements, or some of them, in another layout. */
function laidOut(x: Tensor, choices: Choices): Tensor {
  switch (choices.below(6)) {
    case 0:
      return x.ndim >= 2 ? x.transpose(0, 1) : x;
    case 1:
      return x.ndim >= 1 ? x.at("::2") : x;
    case 2:
      return x.ndim >= 1 ? x.at("1:") : x;
    case 3:
      return x.unsqueeze(0).expand([2, ...x.shape]);
    case 4:
      return x.isComplex() ? x.conj() : x;
    default:
      return x;
  }
}

function resized(x: Tensor, choices: Choices): Tensor {
  const storage = x.untypedStorage();
  const n = storage.nbytes();
  for (const size of choices.pick([[0], [0, 8], [n >> 1], [0, n >> 1], [1], [n * 3], [0, n], [n >> 1, n]]))
    storage.resize_(size);
  return x;
}

/** Over an array of the user's, or exported as one; its buffer is gone in most cases. */
function lent(choices: Choices): Tensor {
  const array = new Float32Array(choices.pick([3, 4, 12, 400]));
  if (choices.below(2) === 0) {
    const x = z.zeros(array.length);
    const out = x.typedArray() as Float32Array;
    if (choices.below(4) > 0) (out.buffer as ArrayBuffer).transfer(choices.pick([0, 4]));
    return x;
  }
  const x = fromTypedArray(array);
  if (choices.below(4) > 0) (array.buffer as ArrayBuffer).transfer(choices.pick([0, 4]));
  return x;
}

/** One tensor; every third is in trouble. */
export function anyTensor(choices: Choices): Tensor {
  const plain = () => laidOut(values(choices), choices);
  switch (choices.below(20)) {
    case 0:
    case 1:
      return laidOut(empty([...choices.pick(SHAPES)], { device: "meta", dtype: choices.pick(DTYPES) }), choices);
    case 2:
    case 3: {
      const x = values(choices);
      return choices.below(2) === 0 ? resized(x, choices) : laidOut(resized(x, choices), choices);
    }
    case 4:
      return lent(choices);
    case 5: {
      const x = plain();
      x.dispose();
      return x;
    }
    case 6: {
      const x = values(choices);
      return x.isFloatingPoint() ? x.requiresGrad_() : x;
    }
    case 7:
      return tensor(choices.below(5));
    default:
      return plain();
  }
}

/** Makes trouble for a tensor that is in use. */
export function disturb(x: Tensor, choices: Choices): void {
  try {
    switch (choices.below(4)) {
      case 0:
        x.untypedStorage().resize_(choices.pick([0, 4, 10_000]));
        break;
      case 1:
        (x.typedArray().buffer as ArrayBuffer).transfer(0);
        break;
      case 2:
        x.dispose();
        break;
      default:
        x.resize_(choices.pick([[0], [2], [50, 50]]));
    }
  } catch {
    // Refused: so much the better.
  }
}
