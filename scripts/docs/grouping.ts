// The headings under which functions and members stand: those of the schema for operators, and for all else by the
// file or folder that has it. TypeDoc reads them from `@category` tags, which are added here.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Comment, CommentTag, type DeclarationReflection, type ProjectReflection, ReflectionKind } from "typedoc";
import { CATEGORIES } from "../../codegen/model/categories.ts";
import { camel } from "../../codegen/model/load.ts";
import type { PublicName } from "./public-names.ts";

const root = join(import.meta.dir, "..", "..");

/** By the beginning of the file's path; the first that fits. */
const OF_FILES: readonly (readonly [path: string, heading: string])[] = [
  ["src/api/tensor-data.ts", "Creation"],
  ["src/dispatch/generator.ts", "Random numbers"],
  ["src/api/generator.ts", "Random numbers"],
  ["src/api/indexing", "Indexing, slicing, joining"],
  ["src/api/numbers.ts", "Numbers and dtypes"],
  ["src/tensor/dtype.ts", "Numbers and dtypes"],
  ["src/tensor/complex.ts", "Numbers and dtypes"],
  ["src/dispatch/promotion.ts", "Numbers and dtypes"],
  ["src/api/print", "Printing"],
  ["src/io/disk/directory-tree.ts", "Printing"],
  ["src/autograd/", "Autograd"],
  ["src/api/scope.ts", "Memory"],
  ["src/tensor/storage.ts", "Memory"],
  ["src/api/typed-storage.ts", "Memory"],
  ["src/cuda/", "Memory"],
  ["src/api/infer.ts", "Settings and devices"],
  ["src/api/", "Settings and devices"],
  ["src/tensor/device.ts", "Settings and devices"],
  ["src/dispatch/memory-format.ts", "Settings and devices"],
  ["src/tensordict/disk/mapped-tensor.ts", "Tensors"],
  ["src/tensordict/disk/", "Files"],
  ["src/io/torch/", "PyTorch's files"],
  ["src/io/numpy/", "NumPy's files"],
  ["src/io/safetensors/", "safetensors"],
  ["src/io/gguf/", "GGUF"],
  ["src/io/hdf5/", "HDF5"],
  ["src/io/snapshot/", "torchsnapshot"],
  ["src/io/store/", "S3 stores"],
  ["src/io/", "Files"],
  ["src/tensordict/classes/disk-methods.ts", "Files and memory maps"],
  ["src/tensordict/classes/table-methods.ts", "Tables"],
  ["src/tensordict/classes/map-methods.ts", "Functions over parts"],
  ["src/tensordict/classes/key-methods.ts", "Keys and entries"],
  ["src/tensordict/classes/layout-methods.ts", "Layouts"],
  ["src/tensordict/classes/plain-methods.ts", "Conversion"],
  ["src/tensordict/classes/params.ts", "Parameters"],
  ["src/tensordict/ops/joining.ts", "Indexing, slicing, joining"],
  ["src/tensordict/", "TensorDict"],
  ["src/nn/", "Layers"],
];

/** By name, for members of large classes whose file has many kinds. */
const OF_MEMBERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Tensor: {
    "Shape and layout": "shape size stride ndim dim numel nelement length layout storageOffset isView version",
    "Dtype and device":
      "dtype device itemsize elementSize nbytes isCpu isCuda isMeta isFloatingPoint isComplex isSigned isConj isNeg",
    Autograd:
      "requiresGrad requiresGrad_ gradFn isLeaf outputNr grad retainGrad retainsGrad registerHook backward data",
    "Values and text": "item bigint tolist toJSON typedArray toString",
    Memory: "dataPtr untypedStorage storage dispose recordStream",
    Creation: "newTensor",
  },
  TensorDictBase: {
    "Keys and entries":
      "get set set_ setdefault getNonTensor setNonTensor has keys values items update update_ updateAt_ copy_ " +
      "select exclude splitKeys separates filterEmpty_ createNested replace rename rename_ " +
      "sortedKeys depth entryClass popitem filterNonTensorData length copyAt_",
    "Indexing, slicing, joining":
      "at setAt setAt_ getAt stackTensors catTensors catFromTensordict stackFromTensordict gather maskedSelect where",
    "Shapes and views":
      "batchSize shape size batchDims ndim dim numel names refineNames autoBatchSize_ pad movedim moveaxis swapdims " +
      "swapaxes narrow expandAs ndimension atleast1d atleast2d atleast3d",
    "Locks and devices": "device isLocked lock_ unlock_ clearDevice_ clearDevice isShared",
    "Functions over entries": "apply apply_ namedApply",
    Autograd: "requiresGrad requiresGrad_ detach grad zeroGrad backward detach_",
    Parameters: "toModule paramCount",
    Conversion: "toString toJSON toTensordict toNamedtuple numpy asTensor",
    Creation: "empty newZeros newOnes newEmpty newFull newTensor fromDictInstance",
    "Copies, dtypes, devices": "dtype bytes",
    "Files and memory maps": "loadMemmap",
    Pointwise: "mod",
    Reduction: "isEmpty",
  },
  nn: {
    Losses: "MSELoss L1Loss HuberLoss SmoothL1Loss",
    Containers: "Module Sequential ModuleList ModuleDict Parameter Buffer deepcopy",
    "Transformers (parameters only)":
      "MultiheadAttention Transformer TransformerEncoder TransformerEncoderLayer TransformerDecoder " +
      "TransformerDecoderLayer",
  },
};

/** The order on a page; others stand behind these, by name. */
export const HEADINGS: string[] = [
  ...["The guide", "Coming from elsewhere", "Reference"],
  ...["Shape and layout", "Dtype and device", "Values and text", "Keys and entries", "Locks and devices"],
  ...["Functions over entries", "Functions over parts", "Tensors", "Containers", "Layers"],
  ...CATEGORIES,
  ...["Autograd", "Memory", "Numbers and dtypes", "TensorDict", "Files", "Files and memory maps", "Printing"],
  ...["Settings and devices", "*", "Other"],
];

interface OpRow {
  key: string;
  name: string;
  aliases: string[];
  category: string;
}

/** `nn.functional.linear` and such, and `add` with its other names, to the schema's heading. */
function operatorHeadings(): Map<string, string> {
  const found = new Map<string, string>();
  for (const op of JSON.parse(readFileSync(join(root, "generated", "ops.json"), "utf8")) as OpRow[]) {
    const space = /^(nn\.functional|[a-z]+(?=\.vector_norm))\./.exec(op.key)?.[0] ?? "";
    if (op.category === "") continue;
    for (const name of [op.name, ...op.aliases.map(camel)]) found.set(space + name, op.category);
  }
  return found;
}

/** The heading of a public name, or none. */
export function headingOf(row: PublicName, operators: ReadonlyMap<string, string>): string | undefined {
  const name = row.name.split(/[.#]/).at(-1) as string;
  const holder = row.owner ?? row.name.slice(0, -name.length - 1);
  for (const [heading, members] of Object.entries(OF_MEMBERS[holder] ?? {})) {
    if (members.split(" ").includes(name)) return heading;
  }
  const isMember = row.owner === "Tensor" || row.owner?.startsWith("TensorDict");
  if (row.owner === null || isMember || row.owner === "nn.functional") {
    const full = row.owner === null || row.owner === "nn.functional" ? row.name : name;
    const plain = full.replace(/_$/, "");
    const found = operators.get(full) ?? operators.get(plain) ?? (plain === "variance" ? "Reduction" : undefined);
    if (found !== undefined) return found;
  }
  return OF_FILES.find(([path]) => row.file.startsWith(path))?.[1];
}

/** Where TypeDoc looks for the heading: at the first signature of what is called. */
function placeOf(one: DeclarationReflection): { comment?: Comment } {
  return one.signatures?.[0] ?? one.getSignature ?? one;
}

/** Gives all functions, members and classes their headings. */
export function addHeadings(
  project: ProjectReflection,
  rowOf: (one: DeclarationReflection) => PublicName | undefined,
): void {
  const operators = operatorHeadings();
  const kinds = ReflectionKind.Function | ReflectionKind.Class | ReflectionKind.Variable | ReflectionKind.ClassMember;
  for (const one of project.getReflectionsByKind(kinds)) {
    if (!one.isDeclaration()) continue;
    const row = rowOf(one);
    const heading = row === undefined ? undefined : headingOf(row, operators);
    if (heading === undefined) continue;
    const place = placeOf(one);
    place.comment ??= new Comment();
    place.comment.blockTags.push(new CommentTag("@category", [{ kind: "text", text: heading }]));
  }
}
