/** Transforms of functions: `vmap` and its kin. */
import type { TextSchema } from "../../model/types.ts";

const runtime = { error: "RuntimeError", code: "runtime" } as const;
const value = { error: "ValueError", code: "value" } as const;

export const texts = [
  {
    ...runtime,
    name: "batchedHasNoBytes",
    text: "Cannot access data pointer of Tensor that doesn't have storage",
  },
  {
    ...runtime,
    name: "batchedItem",
    text:
      "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a " +
      "Tensor, please try to rewrite what you're doing with other operations. If error is occurring somewhere inside " +
      "PyTorch internals, please file a bug report.",
  },
  {
    ...runtime,
    name: "batchedEscaped",
    text:
      "Either your tensor may have escaped from inside a function being vmapped and this is a user error (see " +
      "https://pytorch.org/functorch/stable/ux_limitations.html), or there is an internal functorch error in " +
      "`gen_vmap_plumbing` Please file an issue if it looks like the latter",
  },
  {
    ...runtime,
    name: "batchedData",
    text: "accessing `data` under vmap transform is not allowed",
  },
  {
    ...runtime,
    name: "batchedSetData",
    text: "mutating directly with `.data` under vmap transform is not allowed.",
  },
  {
    error: "NotImplementedError",
    code: "not_implemented",
    name: "batchedStorage",
    text: "Cannot access storage of BatchedTensorImpl",
  },
  {
    ...runtime,
    name: "backwardInTransform",
    text:
      "backward() called inside a functorch transform. This is not supported, please use functorch.grad or " +
      "functorch.vjp instead or call backward() outside of functorch transforms.",
  },
  {
    ...runtime,
    name: "vmapIntoUnbatched",
    text:
      "vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has " +
      "more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over " +
      "{where}. Please try to use out-of-place operators instead of {name}. If said operator is being called " +
      "inside the PyTorch framework, please file a bug report instead.",
  },
  {
    ...runtime,
    name: "vmapOut",
    text: "Batching rule not implemented for aten::{name}; the fallback path doesn't work on out= or view ops.",
  },
  {
    ...runtime,
    name: "vmapNoRule",
    text: "Batching rule not implemented for aten::{name}. We could not generate a fallback.",
  },
  {
    ...runtime,
    name: "vmapNoExamples",
    text: "vmap: aten::{name} is computed example by example, and there are none",
  },
  {
    ...runtime,
    name: "vmapDynamic",
    text:
      "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over " +
      "aten::{name}. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature.",
  },
  {
    ...runtime,
    name: "vmapMaskedSelect",
    text:
      "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this " +
      "because for each " +
      "batch this would return a differently shaped Tensor. Please file an issue at " +
      "https://github.com/pytorch/pytorch/issues if you need this feature.",
  },
  {
    ...runtime,
    name: "vmapMaskIndex",
    text:
      "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing " +
      "with a boolean mask.",
  },
  {
    ...runtime,
    name: "vmapAllclose",
    text:
      "vmap over torch.allclose isn't supported yet. Please file an issue at " +
      "https://github.com/pytorch/pytorch/issues if you need this feature.",
  },
  {
    ...value,
    name: "notATensorInTransform",
    text: "Thing passed to transform API must be Tensor, got {type}",
  },
  {
    ...runtime,
    name: "transformedKind",
    text: "Expected tensors, got unsupported type {type}",
  },
  {
    ...runtime,
    name: "gradNotATensor",
    text: "grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type}",
  },
  {
    ...runtime,
    name: "gradNotAScalar",
    text:
      "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with {dims} dims. Maybe you " +
      "wanted to use the vjp or jacrev APIs instead?",
  },
  {
    ...runtime,
    name: "transformAux",
    text: "{api}: output of function f should be a tuple: (output, aux) if has_aux is True",
  },
  {
    ...runtime,
    name: "argnumRange",
    text: "Got argnum={argnum}, but only {count} positional inputs",
  },
  {
    ...runtime,
    name: "argnumKind",
    text: "argnum must be int, got: {type}",
  },
  {
    ...runtime,
    name: "argnumsKind",
    text: "argnums must be int or Tuple[int, ...], got: {type}",
  },
  {
    ...runtime,
    name: "argnumsEmpty",
    text: "argnums must be non-empty",
  },
  {
    ...runtime,
    name: "argnumsTwice",
    text: "argnums elements must be unique, got {argnums}",
  },
  {
    ...runtime,
    name: "noTensorOutput",
    text: "{api}: Expected f to be a function that has non-empty output (got output = {output})",
  },
  {
    ...runtime,
    name: "tensorOutputs",
    text: "{api}: expected f(*primals) to return only tensors, got unsupported type {type}",
  },
  {
    ...runtime,
    name: "vjpIntegers",
    text:
      "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype " +
      "torch.{dtype}",
  },
  {
    ...runtime,
    name: "cotangentStructure",
    text:
      "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. " +
      "cotangents: {cotangents}, primal output: {output}",
  },
  {
    ...runtime,
    name: "jvpPrimals",
    text: "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals).",
  },
  {
    ...runtime,
    name: "jvpStructure",
    text:
      "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, if " +
      "primals is a tuple of 3 tensors, tangents also must be. Got primals with structure {primals} and tangents " +
      "with structure {tangents}",
  },
  {
    ...runtime,
    name: "jvpEmpty",
    text: "jvp(f, primals, tangents): Expected {name} to contain at least one Tensor.",
  },
  {
    ...runtime,
    name: "jvpKind",
    text: "jvp(f, primals, tangents): Expected {name} to only contain Tensors, got {type}",
  },
  {
    ...value,
    name: "jvpIntegers",
    text: "Expected primal to be floating point or complex, but got: torch.{dtype}",
  },
  {
    ...value,
    name: "tangentIntegers",
    text: "Expected tangent to be floating point or complex, but got: torch.{dtype}",
  },
  {
    ...runtime,
    name: "tangentSize",
    text:
      "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not " +
      "supported. Tensor is of size {size} while the given forward gradient is of size {given}.",
  },
  {
    ...runtime,
    name: "jvpIndependent",
    text:
      "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed " +
      "with strict=True.",
  },
  {
    ...runtime,
    name: "jacobianComplex",
    text: "{api}: Expected all {which} to be real but received complex tensor at flattened input idx: {index}",
  },
  {
    error: "NotImplementedError",
    code: "not_implemented",
    name: "jacobianCollection",
    text: "{api}: Expected tensors in lists and plain objects, got {type}",
  },
  {
    ...value,
    name: "jacrevChunk",
    text: "jacrev: `chunk_size` should be greater than 0.",
  },
  {
    ...runtime,
    name: "vmapRandomness",
    text: "Only allowed values for randomness are 'error', 'different', or 'same'. Got {given}",
  },
  {
    ...runtime,
    name: "vmapRandomError",
    text:
      "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' " +
      "randomness flags on vmap or perform the randomness operation out of vmap",
  },
  {
    ...runtime,
    name: "vmapRandomSame",
    text:
      "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with " +
      "functorch",
  },
  {
    ...runtime,
    name: "vmapRandomInplace",
    text:
      "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like " +
      "same randomness. " +
      "If this is necessary for your usage, please file an issue with functorch.",
  },
  {
    ...runtime,
    name: "vmapRandomOut",
    text:
      "vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out variants " +
      "as a workaround",
  },
  {
    ...value,
    name: "vmapNoTensor",
    text: "vmap: Expected at least one Tensor to vmap over",
  },
  {
    ...value,
    name: "vmapSizes",
    text:
      "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped " +
      "dimension",
  },
  {
    ...value,
    name: "vmapNoInputs",
    text:
      "vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a " +
      "function with no inputs. The latter is unsupported.",
  },
  {
    ...value,
    name: "vmapInDims",
    text:
      "vmap({name}, in_dims={dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple " +
      "matching the structure of inputs, got: {type}.",
  },
  {
    ...value,
    name: "vmapInDimsStructure",
    text:
      "vmap({name}, in_dims={dims}, ...)(<inputs>): in_dims is not compatible with the structure of " +
      "`inputs`. in_dims " +
      "has structure {dimsStructure} but inputs has structure {structure}.",
  },
  {
    ...value,
    name: "vmapInDimKind",
    text:
      "vmap({name}, in_dims={dims}, ...)(<inputs>): Got in_dim={dim} for an input but in_dim must be either an " +
      "integer dimension or None.",
  },
  {
    ...value,
    name: "vmapInputKind",
    text:
      "vmap({name}, in_dims={dims}, ...)(<inputs>): Got in_dim={dim} for an input but the input is of type " +
      "{type}. We " +
      "cannot vmap over non-Tensor arguments, please use None as the respective in_dim",
  },
  {
    ...value,
    name: "vmapInDimRange",
    text:
      "vmap({name}, in_dims={dims}, ...)(<inputs>): Got in_dim={dim} for some input, but that input is a Tensor of " +
      "dimensionality {rank} so expected in_dim to satisfy -{rank} <= in_dim < {rank}.",
  },
  {
    ...value,
    name: "vmapOutDims",
    text:
      "vmap({name}, ..., out_dims={dims}): `out_dims` must be an int, None or a python collection of ints " +
      "representing where in the outputs the vmapped dimension should appear.",
  },
  {
    ...value,
    name: "vmapOutDimsStructure",
    text:
      "vmap({name}, ..., out_dims={dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. " +
      "out_dims has structure {dimsStructure} but outputs has structure {structure}.",
  },
  {
    ...value,
    name: "vmapOutput",
    text:
      "vmap({name}, ...): `{name}` must only return Tensors, got type {type}. Did you mean to set out_dims= to None " +
      "for output?",
  },
  {
    ...value,
    name: "vmapBatchedOutput",
    text: "vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None",
  },
  {
    ...value,
    name: "vmapChunk",
    text: "vmap: chunk_size should be None or greater than 0. (got {given})",
  },
  {
    ...value,
    name: "functionalCallState",
    text: "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type}",
  },
  {
    error: "TypeError",
    code: "type",
    name: "functionalCallTensor",
    text: "{given} is not an instance of torch.Tensor",
  },
  {
    ...value,
    name: "functionalCallTwice",
    text: "{names} appeared in multiple dictionaries; behavior of functional call is ambiguous",
  },
  {
    ...value,
    name: "functionalCallTied",
    text: "functional_call got multiple values for keys {names}, which are tied. Consider using tie_weights=False",
  },
  {
    ...runtime,
    name: "functionalCallNames",
    text: "Error(s) in reparametrizing for {module}:{lines}",
  },
  {
    ...runtime,
    name: "stackedNoModel",
    text: "stack_module_state: Expected at least one model, got 0.",
  },
  {
    ...runtime,
    name: "stackedMode",
    text: "stack_module_state: Expected all models to have the same training/eval mode.",
  },
  {
    ...runtime,
    name: "stackedClass",
    text: "stack_module_state: Expected all models to be of the same class.",
  },
  {
    ...runtime,
    name: "stackedRequiresGrad",
    text: "Expected {name} from each model to have the same .requires_grad",
  },
] as const satisfies readonly TextSchema[];
