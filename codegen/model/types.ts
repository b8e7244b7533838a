/** The schema's own types: what an operator entry may say. */

/** What an argument means; wrapping, messages, batching rules and docs follow from it. */
export type Role =
  | "Tensor"
  | "Tensor?"
  | "Tensor|Scalar"
  | "Tensor|Scalar?"
  | "Tensor|Index"
  | "Tensor|Index?"
  | "Tensor?[]"
  | "TensorList"
  | "Scalar"
  | "Scalar?"
  | "Dim"
  | "Dim?"
  | "Dims"
  | "Dims?"
  | "Size"
  | "Sizes"
  /** One number or several; a list once converted. */
  | "Ints"
  /** A word, or one number or several: the padding of a convolution. */
  | "String|Ints"
  /** A count of dimensions, or two lists of them: what tensordot sums over. */
  | "Axes"
  | "Ints?"
  /** One number for all dimensions, or a list of one for each. */
  | "Int|Ints?"
  | "Float|Floats?"
  /** The same, where null leaves a size as it is. */
  | "Int?[]"
  | "Int"
  | "Int?"
  | "Float"
  | "Float?"
  | "Bool"
  | "Bool?"
  | "String"
  | "String?"
  | "DType"
  | "DType?"
  | "Device?"
  | "Generator?"
  | "MemoryFormat?"
  | "Index"
  | "Source?";

/** A role alone means the argument is required; a pair gives its default. */
export type ArgSchema = Role | readonly [Role, string | number | boolean | null | readonly []];

/** How the dtypes of the operands give the dtype of computation and of the result. */
export type Promotion = "arith" | "float" | "compare" | "bool" | "same" | "bitwise" | "abs" | "none";

export type Kind = "pointwise" | "view" | "op" | "composite" | "factory";

export type Variant = "function" | "method" | "inplace" | "out" | "property";

/** Dtypes that an operator refuses, and in which words. */
export interface RefusalSchema {
  /** Names of dtypes, or `bool`, `integral`, `floating`, `complex` for all of a kind. */
  readonly dtypes: readonly string[];
  /** The kernel's name in `"lt_cpu" not implemented for 'Bool'`, said of the dtype of computation. */
  readonly kernel?: string;
  /** Other words, said of the operands before their shapes are looked at; `{dtype}` stands for the dtype. */
  readonly text?: string;
  /** The class of the error with `text`; NotImplementedError unless given. */
  readonly error?: "NotImplementedError" | "RuntimeError" | "TypeError";
  /** With `text`: operands that must all be of these dtypes; any one operand is enough when absent. */
  readonly all?: readonly string[];
}

/** Why a transform has no rule for an operator. */
export interface Refused {
  readonly refused: string;
}

/**
 * How a call with a batch of examples becomes one call. `broadcast`: operands broadcast, the batch in front; `dims`:
 * dimensions count on behind the batch; `view`: a view, with a rule of its own; `whole`: a reduction of all dimensions
 * but the batch, with a rule of its own; `index`: every operand has the batch in front, and positions are the example's
 * own; `own`: a rule of its own in src/func, under the operator's key; `factory`: no operand has a batch; `random`: as
 * the caller wants random numbers; `decompose`: by the operators that it calls; `each`: example by example.
 */
export type BatchRule =
  | "broadcast"
  | "dims"
  | "view"
  | "whole"
  | "index"
  | "own"
  | "factory"
  | "random"
  | "decompose"
  | "each"
  | Refused;

/**
 * How the tangent of a result follows from those of the operands. `pointwise`: each element changes with those in its
 * place alone, so that the gradient's formula says it, turned around by conjugation; `linear`: the operator itself, of
 * the tangent of its one operand; `multilinear`: the same for each of several, added up; `reduction`: elements times
 * their slopes, which the gradient's formula gives of ones, summed as the operator does; `zero`: the result does not
 * change; `transpose`: by the gradient of the gradient of this one operator; `decompose`: by the operators that it
 * calls.
 */
export type JvpRule =
  | "pointwise"
  | "linear"
  | "multilinear"
  | "reduction"
  | "zero"
  | "transpose"
  | "decompose"
  | Refused;

/** Formulas for tangents by argument, as `grad` has for gradients; those of several arguments are added up. */
export type TangentFormulas = Readonly<Record<string, string>>;

/** Whether smaller operators compute the same. */
export type DecomposeRule = "composite" | Refused;

/** Kernel paths in the native library, `family.name`, by kind of device. The first is the main one. */
export interface KernelSchema {
  readonly cpu: readonly string[];
  /** Absent where the operator has none there yet. */
  readonly cuda?: readonly string[];
}

/**
 * The function that compares the operands' devices in torch, which its error names: of a structured operator or of a
 * kernel. What torch calls it by where it is another operator or overload.
 */
export interface CheckedAs {
  readonly by: "structured" | "kernel";
  /** Of all forms. */
  readonly name?: string;
  readonly overload?: string;
}

/** One operator overload. */
export interface OpSchema {
  /** torch's name: `index_select`. */
  readonly name: string;
  /** torch's overload name: `dim`, `Scalar`; absent for the first. */
  readonly overload?: string;
  /** `nn.functional` and such; absent for the main namespace. */
  readonly namespace?: string;
  readonly kind: Kind;
  /** One or more sentences; shapes, dtypes, units. */
  readonly doc: string;
  /** Positional arguments, in order. */
  readonly args: Readonly<Record<string, ArgSchema>>;
  /** Arguments that are given by name only. */
  readonly kwargs?: Readonly<Record<string, ArgSchema>>;
  readonly variants: readonly Variant[];
  /** Where in-place self is the named argument's role, when it is not the first. */
  readonly promote?: Promotion;
  /** Dtypes that are refused, in the order of the checks; with `impl`, those of torch's kernels, for its function. */
  readonly refuses?: readonly RefusalSchema[];
  /** Pointwise: arguments that the kernel reads as scalar attributes, in its order. */
  readonly attrs?: readonly string[];
  readonly kernels?: KernelSchema;
  /** Where it does not follow from kind and roles. */
  readonly batch?: BatchRule;
  readonly jvp?: JvpRule | TangentFormulas;
  readonly decompose?: DecomposeRule;
  /** Pointwise: contiguous operands of these compute types go through the numbers-only call. */
  readonly fast?: readonly string[];
  /** `module.function` in src/dispatch (kinds view, op, factory) or src/autograd/composites (composite). */
  readonly impl?: string;
  /** What the result is, where it is no tensor. An in-place form of a list has none, whatever the others give. */
  readonly returns?: "boolean" | "Tensor[]" | "[Tensor, Tensor | null]";
  /** Further arguments that the in-place form writes, beside the first: torch's `(a!)`. */
  readonly writes?: readonly string[];
  /** The result is of bools, which `promote` does not say. */
  readonly ofBools?: boolean;
  /** The result has the dtype of the argument `dtype`, which the compiler follows. */
  readonly ofDtype?: boolean;
  /** Names of the results when there are several. */
  readonly results?: readonly string[];
  /** Formulas by argument (`"self"` or `"self, other"`), "none" or "composite". */
  readonly grad: Readonly<Record<string, string>> | "none" | "composite";
  /** Name of the gradient node, `AddBackward0`, with torch's namespace where it has one. */
  readonly node?: string;
  /** Another name of the node where an argument (torch's name) is a tensor, or not null: [argument, name]. */
  readonly nodeWhen?: readonly [string, string];
  /** The result may be of a dtype without gradients: then it has no node. */
  readonly anyResult?: boolean;
  /** Name of the gradient node of the in-place form, when it differs. */
  readonly inplaceNode?: string;
  /** A composite that makes no bytes before its result: nothing has to be given up at its end. */
  readonly direct?: boolean;
  /** The last argument by position, a list of tensors, may be given as several arguments. */
  readonly gathers?: boolean;
  /** The result is a list of tensors, of any length. */
  readonly listResult?: boolean;
  /** A view op that copies when no view exists. */
  readonly mayCopy?: boolean;
  /** Results that carry no gradient, by index. */
  readonly nonDifferentiable?: readonly number[];
  /** Arguments without formulas that may not require gradients. */
  readonly constants?: readonly string[];
  /** Complex results have no gradients; a text is what torch calls the operator. */
  readonly realGradients?: boolean | string;
  /** Only the in-place form has a gradient: the plain result is of bools. */
  readonly inplaceGradOnly?: boolean;
  /** Arguments kept whole although the formulas read only their shapes, as in torch: writes to them are refused. */
  readonly saves?: readonly string[];
  /** Pointwise: `out` must have the dtype of the result. */
  readonly exactOut?: boolean;
  /** Pointwise: the operand that is not rounded to float16 or bfloat16 when it has no dimensions, by its place. */
  readonly wide?: number;
  /** The function takes two numbers too, and gives a tensor without dimensions. */
  readonly ofNumbers?: boolean;
  /** The in-place form refuses dtypes before it looks at overlaps. */
  readonly checksFirst?: boolean;
  /** `device` is where self goes, and not where a fresh result is made. */
  readonly movesTo?: boolean;
  /** The operands may be on different devices: the operator copies between them. */
  readonly anyDevice?: boolean;
  /** Absent where torch's iterator over elements compares the devices. */
  readonly checkedAs?: CheckedAs;
  /** Not offered to users: backward kernels and helpers. */
  readonly internal?: boolean;
  /** Other public names. */
  readonly aliases?: readonly string[];
  /**
   * Other places where torch has it, by its full name there: `nn.functional.conv1d`, or `torch.conv1d` for the main
   * namespace. A function is there, or with `_` behind its name the in-place form.
   */
  readonly also?: readonly string[];
  /** Code whose last expression prints the text after `// `. */
  readonly example?: string;
  /** The in-place form's, where it is not the operator's with the writing method instead of the call. */
  readonly inplaceExample?: string;
  /** What it refuses. */
  readonly throws?: readonly string[];
}

/** The text of an error or a warning, with `{name}` for values; `{op}` is the operator that the error carries. */
export interface TextSchema {
  /** Name of the function that makes it. */
  readonly name: string;
  /** The class that is thrown; absent for a warning. */
  readonly error?:
    | "RuntimeError"
    | "IndexError"
    | "NotImplementedError"
    | "OutOfMemoryError"
    | "AssertionError"
    | "AttributeError"
    | "DisposedError"
    | "RangeError"
    | "TypeError"
    | "ValueError";
  /** What `code` the error carries. */
  readonly code?: string;
  /** The kind of a warning. */
  readonly warning?: "UserWarning";
  readonly text: string;
}

export interface DTypeRow {
  readonly id: number;
  readonly name: string;
  readonly itemsize: number;
  /** 0 bool, 1 integral, 2 floating, 3 complex. */
  readonly category: number;
  readonly scalarType: string;
  readonly cppName: string;
  readonly compute: string;
  readonly native: boolean;
  readonly signed: boolean;
}

export interface StatusRow {
  readonly code: number;
  readonly name: string;
  readonly doc: string;
}

export interface NativeRow {
  readonly name: string;
  readonly args: readonly string[];
  readonly returns: string;
  readonly doc: string;
}

/** Named numbers that both sides use. */
export interface CodesRow {
  readonly name: string;
  /** Whose they are: a family of kernels, a part of the library, or `call`: then every object reads them. */
  readonly family: string;
  readonly doc: string;
  readonly type: "u32" | "i32" | "usize" | "f64" | "enum(u8)";
  readonly values: Readonly<Record<string, number>>;
  readonly docs?: Readonly<Record<string, string>>;
}
