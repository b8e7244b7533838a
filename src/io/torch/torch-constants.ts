// Names of torch's that are values in files and have no use here: layouts, dtypes without tensors, kinds of
// quantization, devices of other makers.
type ConstantKind = "dtype" | "layout" | "qscheme";

const names = (text: string, kind: ConstantKind) => text.split(" ").map((name) => [`torch.${name}`, kind] as const);

const KINDS = new Map<string, ConstantKind>([
  ...names("strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc jagged _mkldnn", "layout"),
  ...names("per_tensor_affine per_tensor_symmetric per_channel_affine per_channel_symmetric", "qscheme"),
  ...names("per_channel_affine_float_qparams", "qscheme"),
  ...names("qint8 quint8 qint32 quint4x2 quint2x4 complex32 bcomplex32 bits8 bits16 bits1x8 bits2x4 bits4x2", "dtype"),
  ...names("int1 int2 int3 int4 int5 int6 int7 uint1 uint2 uint3 uint4 uint5 uint6 uint7", "dtype"),
  ...names("float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2", "dtype"),
]);

/** Whether this is the name of such a value: "torch.sparse_coo". */
export function isConstantName(name: string): boolean {
  return KINDS.has(name);
}

/** A layout, a kind of quantization, or a dtype that no tensor has here; each of them is there once. */
export class TorchConstant {
  private static readonly known = new Map<string, TorchConstant>();

  private constructor(
    /** With its module: "torch.strided". */
    readonly name: string,
    readonly kind: ConstantKind,
  ) {}

  /** The value of a name for which `isConstantName` is true. */
  static of(name: string): TorchConstant {
    let found = TorchConstant.known.get(name);
    if (found === undefined) {
      found = new TorchConstant(name, KINDS.get(name) as ConstantKind);
      TorchConstant.known.set(name, found);
    }
    return found;
  }
  toString(): string {
    return this.name;
  }
}

/** A device of a kind that tensors cannot be on here, such as "mps:0". */
export class TorchDevice {
  constructor(
    readonly type: string,
    readonly index: number | null,
  ) {}
  toString(): string {
    return this.index === null ? this.type : `${this.type}:${this.index}`;
  }
}
