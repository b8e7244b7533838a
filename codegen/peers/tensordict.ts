/**
 * Names of tensordict that are not there, and why: groups of names by a reason. The table of names shows them, and
 * test/codegen/tensordict-names.test.ts finds names that are neither there nor here.
 */
export const NOT_APPLICABLE: readonly (readonly [why: string, names: readonly string[]])[] = [
  [
    "torch.distributed: there are no processes that call each other; `toShared` gives memory to Workers and processes",
    [
      ...["TensorDict.all_gather", "TensorDict.all_reduce", "TensorDict.broadcast", "TensorDict.gather_and_stack"],
      ...["TensorDict.init_remote", "TensorDict.from_remote_init", "TensorDict.irecv", "TensorDict.isend"],
      ...["TensorDict.recv", "TensorDict.send", "TensorDict.reduce", "TensorDict.scatter"],
      ...["TensorDict.arecv", "TensorDict.asend"],
    ],
  ],
  ["CUDA streams are not exposed", ["TensorDict.record_stream"]],
  [
    "quantized dtypes, which PyTorch deprecates, and half complex numbers are no dtypes here",
    [...["TensorDict.qint32", "TensorDict.qint8", "TensorDict.quint4x2", "TensorDict.quint8", "TensorDict.complex32"]],
  ],
  ["torch.compile keeps no references here", ["TensorDict.clear_refs_for_compile_"]],
  [
    "formats of Python libraries that JavaScript has not: Arrow, Parquet, CSV and JSON are there, for pandas too",
    [
      ...["TensorDict.from_pandas", "TensorDict.to_pandas", "tensordict.from_pandas", "TensorDict.to_mds"],
      ...["TensorDict.from_zarr", "TensorDict.to_zarr", "tensordict.from_zarr"],
    ],
  ],
  [
    "Redis: directories and archives go to S3 stores",
    ["TensorDict.to_store", "tensordict.TensorDictStore", "tensordict.LazyStackedTensorDictStore"],
  ],
  [
    "for Python's type checkers: TypeScript knows the entries of a TensorDict from what it is made of",
    [
      ...["tensordict.TensorCollection", "tensordict.TypedTensorDict"],
      ...["tensordict.NonTensorDataBase", "tensordict.utils.DeviceType", "tensordict.utils.IndexType"],
    ],
  ],
  ['an argument, `"."` by default', ["tensordict.KEY_SEPARATOR", "tensordict.utils.KEY_SEPARATOR"]],
  ["lists are arrays", ["tensordict.utils.LinkedList"]],
  ["what `attrs` gives; nobody makes one", ["tensordict.TensorAttrs"]],
  ["Python's logging and measuring: the profiler measures", ["tensordict.utils.logger", "tensordict.utils.timeit"]],
  ["CUDA graphs are not recorded", ["tensordict.nn.CudaGraphModule"]],
  [
    "modules take TensorDicts; an object of a class gives its fields to one",
    [
      ...["tensordict.TensorClassModuleBase", "tensordict.TensorClassModuleWrapper"],
      ...["tensordict.nn.TensorClassModuleBase", "tensordict.nn.TensorClassModuleWrapper"],
    ],
  ],
  ['`tensordict.nn.mappings("biased_softplus_1.0")` gives it', ["tensordict.nn.biased_softplus"]],
  ["methods of TensorDict do the same", [...["tensordict.memmap", "tensordict.to_arrow"]]],
];

/** Names that wait for an operator of tensors. */
export const WAITING: readonly string[] = [];
