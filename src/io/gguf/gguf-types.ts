// The element types of GGUF files: which are plain, and how the others group elements into blocks.
import { bfloat16, type DType, float16, float32, float64, int8, int16, int32, int64 } from "../../tensor/dtype.ts";

/** An element type. Quantized types hold `blockSize` elements in `blockBytes` bytes. */
export interface GgufType {
  /** Its name, such as "F16" or "Q4_0". */
  readonly name: string;
  /** Elements in a block. */
  readonly blockSize: number;
  /** Bytes of a block. */
  readonly blockBytes: number;
  /** The tensor's dtype; null for quantized types. */
  readonly dtype: DType | null;
}

const PLAIN: [number, string, DType][] = [
  [0, "F32", float32],
  [1, "F16", float16],
  [24, "I8", int8],
  [25, "I16", int16],
  [26, "I32", int32],
  [27, "I64", int64],
  [28, "F64", float64],
  [30, "BF16", bfloat16],
];

// Number, name, elements and bytes of a block, as GGUF's own Python package lists them.
const QUANTIZED: [number, string, number, number][] = [
  [2, "Q4_0", 32, 18],
  [3, "Q4_1", 32, 20],
  [6, "Q5_0", 32, 22],
  [7, "Q5_1", 32, 24],
  [8, "Q8_0", 32, 34],
  [9, "Q8_1", 32, 40],
  [10, "Q2_K", 256, 84],
  [11, "Q3_K", 256, 110],
  [12, "Q4_K", 256, 144],
  [13, "Q5_K", 256, 176],
  [14, "Q6_K", 256, 210],
  [15, "Q8_K", 256, 292],
  [16, "IQ2_XXS", 256, 66],
  [17, "IQ2_XS", 256, 74],
  [18, "IQ3_XXS", 256, 98],
  [19, "IQ1_S", 256, 50],
  [20, "IQ4_NL", 32, 18],
  [21, "IQ3_S", 256, 110],
  [22, "IQ2_S", 256, 82],
  [23, "IQ4_XS", 256, 136],
  [29, "IQ1_M", 256, 56],
  [34, "TQ1_0", 256, 54],
  [35, "TQ2_0", 256, 66],
  [39, "MXFP4", 32, 17],
  [40, "NVFP4", 64, 36],
  [41, "Q1_0", 128, 18],
];

/** Types that files once had, and that nothing expands any more. */
export const FORMER_TYPES: Readonly<Record<number, string>> = {
  4: "Q4_2",
  5: "Q4_3",
  31: "Q4_0_4_4",
  32: "Q4_0_4_8",
  33: "Q4_0_8_8",
  36: "IQ4_NL_4_4",
  37: "IQ4_NL_4_8",
  38: "IQ4_NL_8_8",
};

/** All types, by their number in files. */
export const GGUF_TYPES: ReadonlyMap<number, GgufType> = new Map<number, GgufType>([
  ...PLAIN.map(([id, name, dtype]): [number, GgufType] => {
    return [id, { name, blockSize: 1, blockBytes: dtype.itemsize, dtype }];
  }),
  ...QUANTIZED.map(([id, name, blockSize, blockBytes]): [number, GgufType] => {
    return [id, { name, blockSize, blockBytes, dtype: null }];
  }),
]);
