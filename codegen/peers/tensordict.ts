/**
 * Names of tensordict that are not there, and why: groups of names by a reason. The table of names shows them, and
 * test/codegen/tensordict-names.test.ts finds names that are neither there nor here.
 */
export const NOT_APPLICABLE: readonly (readonly [why: string, names: readonly string[]])[] = [
  [
    "torch.distributed: no processes here call each other; `toShared` gives memory to Workers and child processes",
    [
      ...["TensorDict.all_gather", "TensorDict.all_reduce", "TensorDict.broadcast", "TensorDict.gather_and_stack"],
      ...["TensorDict.init_remote", "TensorDict.from_remote_init", "TensorDict.irecv", "TensorDict.isend"],
      ...["TensorDict.recv", "TensorDict.send", "TensorDict.reduce", "TensorDict.scatter"],
      ...["TensorDict.arecv", "TensorDict.asend"],
    ],
  ],
  ["copies and kernels of a GPU are waited for: there are no streams to tell", ["TensorDict.record_stream"]],
  ["there are no CUDA graphs; calls go to the GPU one by one", ["tensordict.nn.CudaGraphModule"]],
  [
    "dtypes that are not here: quantized ones, which PyTorch deprecates, and half complex numbers",
    [...["TensorDict.qint32", "TensorDict.qint8", "TensorDict.quint4x2", "TensorDict.quint8", "TensorDict.complex32"]],
  ],
  ["prepares for torch.compile, which is not here", ["TensorDict.clear_refs_for_compile_"]],
  [
    "data frames are Python's: pandas reads and writes the CSV, JSON, Parquet and Arrow files that are read here",
    ["TensorDict.from_pandas", "TensorDict.to_pandas", "tensordict.from_pandas"],
  ],
  [
    "other libraries' stores: HDF5 files and memory-mapped directories hold arrays, `toParquet` and `writeTable` rows",
    ["TensorDict.from_zarr", "TensorDict.to_zarr", "tensordict.from_zarr", "TensorDict.to_mds"],
  ],
  [
    "nothing is stored in Redis: `saveRemote` and `io.upload` go to S3 stores, `toShared` shares memory",
    ["TensorDict.to_store", "tensordict.TensorDictStore", "tensordict.LazyStackedTensorDictStore"],
  ],
  ["`TensorDictBase` is the class of all collections, and `isTensorCollection` asks", ["tensordict.TensorCollection"]],
  ["`TensorDict<{ a: Tensor }>` has typed entries, and `tensorclass` fields", ["tensordict.TypedTensorDict"]],
  ["`tensordict.isNonTensor` asks", ["tensordict.NonTensorDataBase"]],
  ["the types `DeviceLike` and `IndexPart`", ["tensordict.utils.DeviceType", "tensordict.utils.IndexType"]],
  [
    'the separator is an argument of `flattenKeys` and its like, `"."` by default',
    ["tensordict.KEY_SEPARATOR", "tensordict.utils.KEY_SEPARATOR"],
  ],
  [
    "values of a stack are read as an array of their own: change them with `set` or `setAt`",
    ["tensordict.utils.LinkedList"],
  ],
  ["what `attrs` gives is read, not made", ["tensordict.TensorAttrs"]],
  ["Python's logging and measuring: `profiler` measures calls", ["tensordict.utils.logger", "tensordict.utils.timeit"]],
  [
    "`TensorDictModule` takes objects of a tensorclass as it takes TensorDicts",
    [
      ...["tensordict.TensorClassModuleBase", "tensordict.TensorClassModuleWrapper"],
      ...["tensordict.nn.TensorClassModuleBase", "tensordict.nn.TensorClassModuleWrapper"],
    ],
  ],
  ['`tensordict.nn.mappings("biased_softplus_1.0")` gives it', ["tensordict.nn.biased_softplus"]],
  ["the method `toArrow`", ["tensordict.to_arrow"]],
];

/** Names that wait for an operator of tensors. */
export const WAITING: readonly string[] = [];
