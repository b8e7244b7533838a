/** Copies, conversions, and operators on a tensor's storage. */
import type { OpSchema } from "../model/types.ts";

const composite = { kind: "composite", grad: "composite", variants: ["method"] } as const;
const conversion = {
  ...composite,
  args: { self: "Tensor" },
  kwargs: { memory_format: "MemoryFormat?" },
} as const;

export const ops = [
  {
    name: "clone", kind: "op", variants: ["function", "method"], args: { self: "Tensor" }, kwargs: { memory_format: "MemoryFormat?" }, kernels: ["copy.copy"], impl: "copy.clone", node: "CloneBackward0", grad: { self: "grad" },
    doc: "A copy with storage of its own, recorded by autograd. The layout is kept unless a memory format is given.",
    example: "tensor([1, 2]).clone() // tensor([1., 2.])",
  },
  { ...composite, name: "contiguous", args: { self: "Tensor" }, kwargs: { memory_format: "MemoryFormat?" }, impl: "composites.contiguous", doc: "The tensor itself when it is contiguous, else a contiguous copy." },
  {
    name: "copy", kind: "op", variants: ["inplace"], args: { self: "Tensor", src: "Tensor", non_blocking: ["Bool", false] }, kernels: ["unary.convert"], impl: "storage_ops.copy", node: "CopyBackwards", grad: { self: "zerosOf(grad)", src: "grad" },
    doc: "Takes the elements of another tensor, broadcast and converted.",
    throws: ["RuntimeError when the shapes do not broadcast or the tensors partly overlap"],
  },
  {
    name: "fill", kind: "op", variants: ["function", "inplace"], args: { self: "Tensor", value: "Scalar" }, impl: "storage_ops.fill", node: "FillBackward0", inplaceNode: "FillBackward2", grad: { self: "zerosOf(grad)" },
    doc: "Every element set to a number.",
    throws: ["RuntimeError when the number does not fit the dtype"],
  },
  {
    name: "fill", overload: "Tensor", kind: "op", variants: ["function", "inplace"], args: { self: "Tensor", value: "Tensor" }, impl: "storage_ops.fillTensor", node: "FillBackward1", inplaceNode: "FillBackward3",
    grad: { self: "zerosOf(grad)", value: "grad.sum()" },
    doc: "Every element set to the value of a 0-dim tensor.",
    throws: ["RuntimeError when the value has dimensions"],
  },
  { name: "zero", kind: "op", variants: ["inplace"], args: { self: "Tensor" }, impl: "storage_ops.zero", node: "ZeroBackward0", grad: { self: "zerosOf(grad)" }, doc: "Every element set to zero." },
  {
    name: "_to_copy", kind: "op", variants: [], internal: true, args: { self: "Tensor", dtype: "DType", memory_format: "MemoryFormat?" }, impl: "storage_ops.toCopy", node: "ToCopyBackward0", grad: { self: "grad.to(self.dtype)" },
    doc: "A converted copy.",
  },
  { name: "to", kind: "composite", grad: "composite", variants: ["method"], args: { self: "Tensor", dtype: "DType", non_blocking: ["Bool", false], copy: ["Bool", false] }, kwargs: { memory_format: "MemoryFormat?", device: "Device?" }, impl: "composites.toDtype", doc: "The tensor in another dtype; itself when it is so already and `copy` is not set.", example: "tensor([1.5]).to(\"int64\") // tensor([1])" },
  { name: "to", overload: "device", kind: "composite", grad: "composite", variants: ["method"], args: { self: "Tensor", device: "Device?", dtype: "DType?", non_blocking: ["Bool", false], copy: ["Bool", false] }, kwargs: { memory_format: "MemoryFormat?" }, impl: "composites.toDevice", doc: "The tensor on another device, and in another dtype." },
  { name: "to", overload: "other", kind: "composite", grad: "composite", variants: ["method"], args: { self: "Tensor", other: "Tensor", non_blocking: ["Bool", false], copy: ["Bool", false] }, kwargs: { memory_format: "MemoryFormat?" }, impl: "composites.toOther", doc: "The tensor with the device and dtype of another." },
  { ...composite, name: "type_as", args: { self: "Tensor", other: "Tensor" }, impl: "composites.typeAs", doc: "The tensor in the dtype of another." },
  { ...composite, name: "type", args: { self: "Tensor", dtype: "DType" }, impl: "composites.typeOf", doc: "The tensor in another dtype." },
  { ...conversion, name: "double", impl: "composites.double", doc: "The tensor as float64." },
  { ...conversion, name: "float", impl: "composites.float", doc: "The tensor as float32." },
  { ...conversion, name: "half", impl: "composites.half", doc: "The tensor as float16." },
  { ...conversion, name: "bfloat16", impl: "composites.bfloat16", doc: "The tensor as bfloat16." },
  { ...conversion, name: "long", impl: "composites.long", doc: "The tensor as int64." },
  { ...conversion, name: "int", impl: "composites.int", doc: "The tensor as int32." },
  { ...conversion, name: "short", impl: "composites.short", doc: "The tensor as int16." },
  { ...conversion, name: "char", impl: "composites.char", doc: "The tensor as int8." },
  { ...conversion, name: "byte", impl: "composites.byte", doc: "The tensor as uint8." },
  { ...conversion, name: "bool", impl: "composites.bool", doc: "The tensor as bool." },
  { ...conversion, name: "cfloat", impl: "composites.cfloat", doc: "The tensor as complex64." },
  { ...conversion, name: "cdouble", impl: "composites.cdouble", doc: "The tensor as complex128." },
  { ...conversion, name: "cpu", impl: "composites.cpu", doc: "The tensor on the CPU." },
  { ...composite, name: "is_contiguous", args: { self: "Tensor" }, kwargs: { memory_format: "MemoryFormat?" }, impl: "composites.isContiguous", doc: "True when the elements lie row by row without gaps, or in the given memory format." },
  { ...composite, name: "is_set_to", args: { self: "Tensor", tensor: "Tensor" }, impl: "composites.isSetTo", doc: "True when both tensors are the same region of the same storage." },
  { name: "resize", kind: "composite", grad: "composite", variants: ["inplace"], args: { self: "Tensor", size: "Size" }, kwargs: { memory_format: "MemoryFormat?" }, impl: "composites.resize", doc: "Changes the shape; the storage grows when it must, new bytes are not cleared.", throws: ["RuntimeError for tensors that require gradients or whose storage cannot grow"] },
  { name: "resize_as", kind: "composite", grad: "composite", variants: ["inplace"], args: { self: "Tensor", the_template: "Tensor" }, kwargs: { memory_format: "MemoryFormat?" }, impl: "composites.resizeAs", doc: "Changes the shape to another tensor's." },
  { name: "set", kind: "composite", grad: "composite", variants: ["inplace"], args: { self: "Tensor", source: ["Any?", null], storage_offset: ["Int", 0], size: "Dims?", stride: "Dims?" }, impl: "composites.set", doc: "Makes the tensor a region of another storage or tensor; without arguments, an empty one." },
  { name: "detach", overload: "inplace", kind: "composite", grad: "composite", variants: ["inplace"], args: { self: "Tensor" }, impl: "composites.detachInplace", doc: "Forgets the history of the tensor.", throws: ["RuntimeError for views"] },
  { ...composite, name: "sum_to_size", args: { self: "Tensor", size: "Size" }, impl: "composites.sumToSize", doc: "Sums the dimensions that broadcasting from `size` would have added." },
] as const satisfies readonly OpSchema[];
