/** Gradients, graphs and what may be written to while they are recorded. */
import type { TextSchema } from "../../model/types.ts";

const disposed = { error: "DisposedError", code: "disposed" } as const;

export const texts = [
  {
    name: "outNeedsNoGrad",
    error: "RuntimeError",
    code: "out_requires_grad",
    text:
      "{name}(): functions with out=... arguments don't support automatic differentiation, but one of the " +
      "arguments requires grad.",
  },
  {
    name: "leafInPlace",
    error: "RuntimeError",
    code: "leaf",
    text: "a leaf Variable that requires grad is being used in an in-place operation.",
  },
  {
    name: "leafViewInPlace",
    error: "RuntimeError",
    code: "leaf",
    text: "a view of a leaf Variable that requires grad is being used in an in-place operation.",
  },
  {
    name: "notDifferentiable",
    error: "RuntimeError",
    code: "dtype",
    text: "Only Tensors of floating point and complex dtype can require gradients",
  },
  {
    name: "implicitGradientNotScalar",
    error: "RuntimeError",
    code: "runtime",
    text: "grad can be implicitly created only for scalar outputs",
  },
  {
    name: "implicitGradientNotReal",
    error: "RuntimeError",
    code: "runtime",
    text: "grad can be implicitly created only for real scalar outputs but got torch.{dtype}",
  },
  {
    name: "badGradientType",
    error: "TypeError",
    code: "type",
    text: "gradients can be either Tensors or None, but got {type}",
  },
  {
    name: "gradientShapeMismatch",
    error: "RuntimeError",
    code: "runtime",
    text:
      "Mismatch in shape: grad_output[{index}] has a shape of {gradient} and output[{index}] has a shape " +
      "of {output}.",
  },
  {
    name: "gradientOnWrongDevice",
    error: "RuntimeError",
    code: "runtime",
    text: "{who}invalid gradient at index {index} - expected device {expected} but got {got}",
  },
  {
    ...disposed,
    name: "savedWasDisposed",
    text:
      "{node} needs a tensor of shape {shape} that its operator saved for the backward pass, and it was disposed " +
      "since: by dispose(), or at the end of a block with `using`. Keep it until backward() has run.",
  },
  {
    ...disposed,
    name: "gradientWasDisposed",
    text: "{node} was to pass on a gradient of shape {shape}, and it was disposed before: a hook got it, perhaps.",
  },
  {
    ...disposed,
    name: "leafGradientDisposed",
    text:
      "the gradient of a tensor of shape {shape} cannot be added up: {what} was disposed. Set `grad` to null where " +
      "it is not needed any more.",
  },
  {
    ...disposed,
    name: "startGradientDisposed",
    text: "the gradient that was given for output {index} was disposed",
  },
  {
    ...disposed,
    name: "hookGaveDisposed",
    text: "hook '{name}' gave a tensor that was disposed",
  },
  {
    name: "noGradInputs",
    error: "RuntimeError",
    code: "value",
    text: "`inputs` argument to `grad()` cannot be empty.",
  },
  {
    name: "fewGradients",
    error: "RuntimeError",
    code: "value",
    text: "got {tensors} tensors and {gradients} gradients",
  },
  {
    name: "noBackwardInputs",
    error: "RuntimeError",
    code: "runtime",
    text: "`inputs` argument to `backward()` cannot be empty.",
  },
  {
    name: "notTensors",
    error: "TypeError",
    code: "type",
    text: "{op}(): argument '{argument}' must be Tensor or tuple of Tensors, not {got}",
  },
  {
    name: "noGradientNode",
    error: "RuntimeError",
    code: "runtime",
    text: "element {index} of tensors does not require grad and does not have a gradFn",
  },
  {
    name: "unusedInGraph",
    error: "RuntimeError",
    code: "runtime",
    text:
      "The differentiated Tensor at index {index} appears to not have been used in the graph. Set " +
      "allowUnused: true if this is the desired behavior.",
  },
  {
    name: "zerosForUnused",
    error: "ValueError",
    code: "value",
    text:
      "Expected allowUnused to be true or not passed when materializeGrads: true, but got: " + "allowUnused: false.",
  },
  {
    name: "badGradAssigned",
    error: "TypeError",
    code: "type",
    text: "assigned grad expected to be a Tensor or None but got grad of type {type}",
  },
  {
    name: "ownGrad",
    error: "RuntimeError",
    code: "runtime",
    text: "can't assign Variable as its own grad",
  },
  {
    name: "gradOfWrongDtype",
    error: "RuntimeError",
    code: "runtime",
    text:
      "attempting to assign a gradient with dtype '{grad}' to a tensor with grad_dtype '{dtype}'. The gradient " +
      "must match the tensor's grad_dtype (defaults to the tensor's dtype). You can set the tensor's grad_dtype " +
      "attribute with a specific dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging the " +
      "dtypes of a tensor and its gradient may break downstream systems that assume they match.",
  },
  {
    name: "gradOfWrongShape",
    error: "RuntimeError",
    code: "runtime",
    text:
      "attempting to assign a gradient of size '{grad}' to a tensor of size '{size}'. Please ensure that the " +
      "gradient and the tensor are the same size",
  },
  {
    name: "gradOnWrongDevice",
    error: "RuntimeError",
    code: "runtime",
    text:
      "attempting to assign a gradient with device type '{grad}' to a tensor with device type '{device}'. Please " +
      "ensure that the gradient and the tensor are on the same device",
  },
  {
    name: "notALeaf",
    error: "RuntimeError",
    code: "runtime",
    text:
      "you can only change requiresGrad flags of leaf variables. If you want to use a computed variable in a " +
      "subgraph that doesn't require differentiation use var_no_grad = var.detach().",
  },
  {
    name: "integersNeedNoGrad",
    error: "RuntimeError",
    code: "runtime",
    text: "only Tensors of floating point dtype can require gradients",
  },
  {
    name: "retainGradWithoutGrad",
    error: "RuntimeError",
    code: "runtime",
    text: "can't retainGrad on Tensor that has requiresGrad: false",
  },
  {
    name: "hookWithoutGrad",
    error: "RuntimeError",
    code: "runtime",
    text: "cannot register a hook on a tensor that doesn't require gradient",
  },
  {
    name: "hookNotAFunction",
    error: "TypeError",
    code: "type",
    text: "the hook must be a function, not {type}",
  },
  {
    name: "accumulateHookNotOnLeaf",
    error: "RuntimeError",
    code: "runtime",
    text: "post accumulate grad hooks cannot be registered on non-leaf tensors",
  },
  {
    name: "dataNotATensor",
    error: "TypeError",
    code: "type",
    text: "Variable data has to be a tensor, but got {type}",
  },
  {
    name: "dataIncompatible",
    error: "RuntimeError",
    code: "runtime",
    text: "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type.",
  },
  {
    name: "dataNotDifferentiable",
    error: "RuntimeError",
    code: "runtime",
    text: "data set to a tensor that requires gradients must be floating point or complex dtype",
  },
  {
    name: "detachView",
    error: "RuntimeError",
    code: "runtime",
    text:
      "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for " +
      "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence " +
      "detach_() cannot be called on these gradients. To fix this error, please refer to the " +
      "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.",
  },
  {
    name: "differentiatedNeedsGrad",
    error: "RuntimeError",
    code: "runtime",
    text: "One of the differentiated Tensors does not require grad",
  },
  {
    name: "invalidGradientAt",
    error: "RuntimeError",
    code: "runtime",
    text: "{who}invalid gradient at index {index} - got {got} but expected shape compatible with {expected}",
  },
  {
    name: "hookChangedSize",
    error: "RuntimeError",
    code: "runtime",
    text: "hook '{hook}' has changed the size of value",
  },
  {
    name: "hookChangedType",
    error: "RuntimeError",
    code: "runtime",
    text: "hook '{hook}' has changed the type of value (was {was} got {got})",
  },
  {
    name: "hookGaveNoTensor",
    error: "TypeError",
    code: "type",
    text: "expected Variable, but hook returned '{type}'",
  },
  {
    name: "hookChangedDevice",
    error: "RuntimeError",
    code: "runtime",
    text: "hook '{hook}' has changed the device of value",
  },
  {
    name: "leafMovedIntoGraph",
    error: "RuntimeError",
    code: "runtime",
    text: "leaf variable has been moved into the graph interior",
  },
  {
    name: "noFormula",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "the derivative for '{name}' is not implemented.",
  },
  {
    name: "noDerivative",
    error: "RuntimeError",
    code: "runtime",
    text: "derivative for aten::{name} is not implemented",
  },
  {
    name: "graphFreed",
    error: "RuntimeError",
    code: "graph_freed",
    text:
      "Trying to backward through the graph a second time (or directly access saved tensors after they have " +
      "already been freed). Saved intermediate values of the graph are freed when you call .backward() or " +
      "autograd.grad(). Specify retainGraph: true if you need to backward through the graph a second time or if " +
      "you need to access saved tensors after calling backward.",
  },
  {
    name: "accumulatesOnly",
    error: "RuntimeError",
    code: "runtime",
    text: "the engine accumulates",
  },
  {
    name: "savedWasDetached",
    error: "RuntimeError",
    code: "runtime",
    text:
      "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, " +
      "please use out-of-place `.detach()` instead",
  },
  {
    name: "savedWasModified",
    error: "RuntimeError",
    code: "version",
    text:
      "one of the variables needed for gradient computation has been modified by an inplace operation: [{type} " +
      "{shape}]{maker} is at version {version}; expected version {expected} instead. Hint: enable anomaly " +
      "detection to find the operation that failed to compute its gradient, with " +
      "torch.autograd.set_detect_anomaly(True, check_nan=False).",
  },
  {
    name: "noAutogradForDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "Autograd not support dtype: {dtype}",
  },
  {
    name: "argumentNotDifferentiable",
    error: "RuntimeError",
    code: "runtime",
    text:
      "The function '{fn}' is not differentiable with respect to argument '{name}'. This input cannot have " +
      "requires_grad True.",
  },
  {
    name: "complexNotDifferentiable",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "{op} does not support automatic differentiation for outputs with complex dtype.",
  },
  {
    name: "noGradViewInPlace",
    error: "RuntimeError",
    code: "no_grad_view",
    text:
      "{what} Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code " +
      "by moving both the view and the inplace either both inside the no_grad block (if you don't want the " +
      "inplace to be tracked) or both outside (if you want the inplace to be tracked).",
  },
  {
    name: "multiOutputViewInPlace",
    error: "RuntimeError",
    code: "multi_output_view",
    text:
      "{what} This view is the output of a function that returns multiple views. Such functions do not allow the " +
      "output views to be modified inplace. You should replace the inplace operation by an out-of-place one.",
  },
] as const satisfies readonly TextSchema[];
