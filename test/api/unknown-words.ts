// Calls of everything with an argument that is one of a few words, for test/api/unknown-words.test.ts.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as Z from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: the compiler refuses words that are not known
type Any = any;

const { arange, io, nn, ones, tensordict, TensorDict } = Z;
const F: Any = nn.functional;
const loose: Any = Z;

const folder = mkdtempSync(join(tmpdir(), "zensor-words-"));
let files = 0;
const fresh = (name: string): string => join(folder, `${files++}-${name}`);
const written = (name: string, write: (path: string) => unknown): string => {
  const path = fresh(name);
  write(path);
  return path;
};
/** Removes what was written. */
export const removeFiles = () => rmSync(folder, { recursive: true, force: true });

const table = (text: string) => written("table", (path) => writeFileSync(path, text));
const parquet = join(import.meta.dir, "..", "fixtures", "tables", "flat.parquet");
const x = (): Any => ones(2, 3);
const td = (): Any => new TensorDict({ a: ones(2, 3), b: { c: ones(2) } }, [2]);
const saved = () => written("td", (path) => td().save(path));
const places = () => Z.zeros(2, 3, { dtype: "int64" });
const indexed = { input: x(), dim: 0, index: places(), src: x() };
const npy = () => written("a.npy", (path) => io.saveNpy(path, arange(3)));
const npz = () => written("a.npz", (path) => io.saveNpz(path, { a: arange(3) }));
const pt = () => written("a.pt", (path) => io.saveTorch([1], path));
const hdf5 = (): Any => new io.Hdf5File(fresh("a.h5"), "w");
const averages = (): Any => Z.profiler.profile(() => ones(2).add(1)).keyAverages();
const safetensors = () => written("a.safetensors", (path) => Z.saveSafetensors({ a: arange(3) }, path));
const raw = () => written("raw", (path) => Z.MemoryMappedTensor.fromTensor(arange(6), { filename: path }));
const linear = () => new nn.Linear(2, 2);
const sgd = () => new Z.optim.SGD(linear().parameters());
const pass = { inKeys: ["a"], outKeys: ["b"] };
const network = (): Any => new tensordict.nn.TensorDictModule((a: Any) => a, ["a"], ["loc"]);

/** Everything else that takes a dtype. */
const WITH_DTYPE: Readonly<Record<string, (options: Any) => unknown>> = {
  ...Object.fromEntries(
    ["empty", "eye", "full", "ones", "rand", "randn", "randperm", "arange", "scalarTensor", "tensor"].map((name) => [
      name,
      (options: Any) => (name === "full" ? loose.full([2], 1, options) : loose[name](2, options)),
    ]),
  ),
  ...Object.fromEntries(
    ["emptyLike", "onesLike", "randLike", "randnLike", "zerosLike", "sum", "prod", "mean", "nansum", "nanmean"].map(
      (name) => [name, (options: Any) => loose[name](x(), options)],
    ),
  ),
  ...Object.fromEntries(
    ["cumsum", "cumsum_", "cumprod", "cumprod_", "softmax", "logSoftmax"].map((name) => [
      name,
      (options: Any) => x()[name](0, options),
    ]),
  ),
  ...Object.fromEntries(
    ["newEmpty", "newOnes", "newZeros", "newTensor"].map((name) => [name, (options: Any) => x()[name]([2], options)]),
  ),
  softmin: (options) => F.softmin(x(), 0, options),
  vectorNorm: (options) => Z.linalg.vectorNorm(x(), 2, options),
  newFull: (options) => x().newFull([2], 1, options),
  newEmptyStrided: (options) => x().newEmptyStrided([2], [1], options),
  emptyStrided: (options) => Z.emptyStrided([2], [1], options),
  emptyPermuted: (options) => Z.emptyPermuted([2], [0], options),
  fullLike: (options) => Z.fullLike(x(), 1, options),
  randintLike: (options) => Z.randintLike(x(), 3, options),
  randint: (options) => Z.randint(3, [2], options),
  normal: (options) => Z.normal(0, 1, [2], options),
  linspace: (options) => Z.linspace(0, 1, 2, options),
  logspace: (options) => Z.logspace(0, 1, 2, options),
  trilIndices: (options) => Z.trilIndices(2, 2, options),
  triuIndices: (options) => Z.triuIndices(2, 2, options),
  asTensor: (options) => Z.asTensor([1], options),
  asNestedTensor: (options) => Z.nested.asNestedTensor([ones(2)], options),
  nestedTensor: (options) => Z.nested.nestedTensor([ones(2)], options),
  fromFilename: (options) => Z.MemoryMappedTensor.fromFilename(raw(), { shape: [6], ...options }),
  makeMemmap: (options) => td().memmap_(fresh("td")).makeMemmap("m", [2], options),
  makeMemmapFromStorage: (options) =>
    td().memmap_(fresh("td")).makeMemmapFromStorage("m", ones(2).untypedStorage(), [2], options),
  setDefaultDtype: ({ dtype }) => Z.setDefaultDtype(dtype),
  LayerNorm: (options) => new nn.LayerNorm(2, options),
  MultiheadAttention: (options) => new nn.MultiheadAttention(4, 2, options),
  TransformerDecoderLayer: (options) => new nn.TransformerDecoderLayer(4, 2, options),
  TransformerEncoderLayer: (options) => new nn.TransformerEncoderLayer(4, 2, options),
};

/** What is called with a word that it does not know, by class and method, and by argument. */
export const CALLS: Readonly<Record<string, (word: Any) => unknown>> = {
  // Numbers
  "div.roundingMode": (word) => x().div(2, { roundingMode: word }),
  "div_.roundingMode": (word) => x().div_(2, { roundingMode: word }),
  "divide.roundingMode": (word) => x().divide(2, { roundingMode: word }),
  "divide_.roundingMode": (word) => x().divide_(2, { roundingMode: word }),
  "quantile.interpolation": (word) => x().quantile(0.5, { interpolation: word }),
  "nanquantile.interpolation": (word) => Z.nanquantile(x(), 0.5, { interpolation: word }),
  "searchsorted.side": (word) => Z.searchsorted(arange(3), arange(3), { side: word }),
  "scatter.reduce": (word) => loose.scatter({ ...indexed, reduce: word }),
  "scatter_.reduce": (word) => x().scatter_(0, places(), x(), { reduce: word }),
  "TensorDict#quantile.interpolation": (word) => td().quantile(0.5, 0, true, { interpolation: word }),
  "TensorDict#quantile.dim": (word) => td().quantile(0.5, word),
  "TensorDict#sum.dim": (word) => td().sum(word),
  "TensorDict#add.default": (word) => td().add(td(), { default: word }),
  "TensorDict#clampMin.default": (word) => td().clampMin(td(), { default: word }),
  // Dtypes, devices, layouts
  "zeros.dtype": (word) => Z.zeros(2, { dtype: word }),
  "zeros.device": (word) => Z.zeros(2, { device: word }),
  "zeros.layout": (word) => Z.zeros(2, { layout: word }),
  "onesLike.layout": (word) => Z.onesLike(x(), { layout: word }),
  "newZeros.layout": (word) => x().newZeros(2, { layout: word }),
  "contiguous.memoryFormat": (word) => x().contiguous({ memoryFormat: word }),
  "clone.memoryFormat": (word) => x().clone({ memoryFormat: word }),
  "to.target": (word) => x().to(word),
  "TensorDict#type.dstType": (word) => td().type(word),
  "type.dtype": (word) => x().type(word),
  "view.dtype": (word) => x().view(word),
  "typedArray.dtype": (word) => x().typedArray(word),
  "setDefaultDtype.d": (word) => Z.setDefaultDtype(word),
  "Device.type": (word) => Z.device(word),
  "device.type with a number": (word) => loose.device(word, 0),
  "Generator.device": (word) => new Z.Generator(word),
  "TensorDict.device": (word) => new TensorDict({}, { device: word }),
  "TensorDict#to.target": (word) => td().to(word),
  "TensorDict#to.dtype": (word) => td().to({ dtype: word }),
  "Module#to.target": (word) => linear().to(word),
  "Module#to.device": (word) => linear().to({ device: word }),
  "Linear.dtype": (word) => new nn.Linear(1, 1, { dtype: word }),
  "Linear.device": (word) => new nn.Linear(1, 1, { device: word }),
  // Images
  ...Object.fromEntries(
    [1, 2, 3].map((n) => [
      `conv${n}d.padding`,
      (word: Any) =>
        loose.nn.functional[`conv${n}d`](ones(...new Array(n + 2).fill(1)), ones(...new Array(n + 2).fill(1)), {
          padding: word,
        }),
    ]),
  ),
  "pad.mode": (word) => F.pad(x(), [1, 1], word),
  "interpolate.mode": (word) => F.interpolate(ones(1, 1, 2), 3, { mode: word }),
  "upsample.mode": (word) => F.upsample(ones(1, 1, 2), 3, { mode: word }),
  ...Object.fromEntries(
    [1, 2, 3].flatMap((n) =>
      [`Conv${n}d`, `ConvTranspose${n}d`].flatMap((name) => [
        [`${name}.dtype`, (word: Any) => new loose.nn[name](1, 1, 1, { dtype: word })],
        [`${name}.paddingMode`, (word: Any) => new loose.nn[name](1, 1, 1, { paddingMode: word })],
        ...(name.includes("Transpose")
          ? []
          : [[`${name}.padding`, (word: Any) => new loose.nn[name](1, 1, 1, { padding: word })]]),
      ]),
    ),
  ),
  "Upsample.mode": (word) => new nn.Upsample({ size: 3, mode: word })(ones(1, 1, 2)),
  // Modules
  "gelu.approximate": (word) => F.gelu(x(), { approximate: word }),
  "GELU.approximate": (word) => new nn.GELU(word)(x()),
  "GELU.options": (word) => new nn.GELU({ approximate: word })(x()),
  "BatchNorm1d.dtype": (word) => new nn.BatchNorm1d(3, { dtype: word }),
  "BatchNorm2d.dtype": (word) => new nn.BatchNorm2d(3, { dtype: word }),
  "BatchNorm3d.dtype": (word) => new nn.BatchNorm3d(3, { dtype: word }),
  "GRU.dtype": (word) => new nn.GRU(1, 1, { dtype: word }),
  "GRUCell.dtype": (word) => new nn.GRUCell(1, 1, { dtype: word }),
  "GroupNorm.dtype": (word) => new nn.GroupNorm(1, 1, { dtype: word }),
  "InstanceNorm1d.dtype": (word) => new nn.InstanceNorm1d(3, { dtype: word }),
  "InstanceNorm2d.dtype": (word) => new nn.InstanceNorm2d(3, { dtype: word }),
  "InstanceNorm3d.dtype": (word) => new nn.InstanceNorm3d(3, { dtype: word }),
  "LSTM.dtype": (word) => new nn.LSTM(1, 1, { dtype: word }),
  "LSTMCell.dtype": (word) => new nn.LSTMCell(1, 1, { dtype: word }),
  "RMSNorm.dtype": (word) => new nn.RMSNorm(3, { dtype: word }),
  "RNN.dtype": (word) => new nn.RNN(1, 1, { dtype: word }),
  "RNNCell.dtype": (word) => new nn.RNNCell(1, 1, { dtype: word }),
  "RNN.nonlinearity": (word) => new nn.RNN(1, 1, { nonlinearity: word }),
  "RNNCell.nonlinearity": (word) => new nn.RNNCell(1, 1, { nonlinearity: word })(ones(1, 1)),
  "generateSquareSubsequentMask.dtype": (word) => nn.Transformer.generateSquareSubsequentMask(2, { dtype: word }),
  "PReLU.dtype": (word) => new nn.PReLU({ dtype: word }),
  "ReduceLROnPlateau.mode": (word) => new Z.optim.lrScheduler.ReduceLROnPlateau(sgd(), word),
  "ReduceLROnPlateau.thresholdMode": (word) =>
    new Z.optim.lrScheduler.ReduceLROnPlateau(sgd(), { thresholdMode: word }),
  "MSELoss.reduction": (word) => (new nn.MSELoss({ reduction: word }) as Any)(x(), x()),
  "L1Loss.reduction": (word) => (new nn.L1Loss({ reduction: word }) as Any)(x(), x()),
  "SmoothL1Loss.reduction": (word) => (new nn.SmoothL1Loss({ reduction: word }) as Any)(x(), x()),
  "HuberLoss.reduction": (word) => (new nn.HuberLoss({ reduction: word }) as Any)(x(), x()),
  "mseLoss.reduction": (word) => F.mseLoss(x(), x(), { reduction: word }),
  "l1Loss.reduction": (word) => F.l1Loss(x(), x(), { reduction: word }),
  "smoothL1Loss.reduction": (word) => F.smoothL1Loss(x(), x(), { reduction: word }),
  "huberLoss.reduction": (word) => F.huberLoss(x(), x(), { reduction: word }),
  "mseLoss of TensorDicts.reduction": (word) => F.mseLoss(td(), td(), { reduction: word }),
  "kaimingNormal_.mode": (word) => nn.init.kaimingNormal_(x(), { mode: word }),
  "kaimingUniform_.mode": (word) => nn.init.kaimingUniform_(x(), { mode: word }),
  "kaimingUniform_.nonlinearity": (word) => nn.init.kaimingUniform_(x(), { nonlinearity: word }),
  "calculateGain.nonlinearity": (word) => nn.init.calculateGain(word),
  "TransformerEncoderLayer.activation": (word) => new nn.TransformerEncoderLayer(4, 2, { activation: word }),
  "TransformerDecoderLayer.activation": (word) => new nn.TransformerDecoderLayer(4, 2, { activation: word }),
  "Transformer.activation": (word) => new nn.Transformer({ dModel: 4, nhead: 2, activation: word }),
  "BCELoss.reduction": (word) => (new nn.BCELoss({ reduction: word }) as Any)(ones(1), ones(1)),
  "BCEWithLogitsLoss.reduction": (word) => (new nn.BCEWithLogitsLoss({ reduction: word }) as Any)(x(), x()),
  "CosineEmbeddingLoss.reduction": (word) => (new nn.CosineEmbeddingLoss({ reduction: word }) as Any)(x(), x(), x()),
  "HingeEmbeddingLoss.reduction": (word) => (new nn.HingeEmbeddingLoss({ reduction: word }) as Any)(x(), x()),
  "KLDivLoss.reduction": (word) => (new nn.KLDivLoss({ reduction: word }) as Any)(x(), x()),
  "MarginRankingLoss.reduction": (word) => (new nn.MarginRankingLoss({ reduction: word }) as Any)(x(), x(), x()),
  "MultiLabelSoftMarginLoss.reduction": (word) =>
    (new nn.MultiLabelSoftMarginLoss({ reduction: word }) as Any)(x(), x()),
  "NLLLoss.reduction": (word) => (new nn.NLLLoss({ reduction: word }) as Any)(ones(1, 2), [0]),
  "CrossEntropyLoss.reduction": (word) => (new nn.CrossEntropyLoss({ reduction: word }) as Any)(ones(1, 2), [0]),
  "PoissonNLLLoss.reduction": (word) => (new nn.PoissonNLLLoss({ reduction: word }) as Any)(x(), x()),
  "SoftMarginLoss.reduction": (word) => (new nn.SoftMarginLoss({ reduction: word }) as Any)(x(), x()),
  "TripletMarginLoss.reduction": (word) => (new nn.TripletMarginLoss({ reduction: word }) as Any)(x(), x(), x()),
  "GaussianNLLLoss.reduction": (word) => (new nn.GaussianNLLLoss({ reduction: word }) as Any)(x(), x(), x()),
  "binaryCrossEntropy.reduction": (word) => F.binaryCrossEntropy(ones(1), ones(1), { reduction: word }),
  "binaryCrossEntropyWithLogits.reduction": (word) => F.binaryCrossEntropyWithLogits(x(), x(), { reduction: word }),
  "cosineEmbeddingLoss.reduction": (word) => F.cosineEmbeddingLoss(x(), x(), x(), { reduction: word }),
  "crossEntropy.reduction": (word) => F.crossEntropy(ones(1, 2), [0], { reduction: word }),
  "nllLoss.reduction": (word) => F.nllLoss(ones(1, 2), [0], { reduction: word }),
  "klDiv.reduction": (word) => F.klDiv(x(), x(), { reduction: word }),
  "poissonNllLoss.reduction": (word) => F.poissonNllLoss(x(), x(), { reduction: word }),
  "gaussianNllLoss.reduction": (word) => F.gaussianNllLoss(x(), x(), x(), { reduction: word }),
  "tripletMarginLoss.reduction": (word) => F.tripletMarginLoss(x(), x(), x(), { reduction: word }),
  "marginRankingLoss.reduction": (word) => F.marginRankingLoss(x(), x(), x(), { reduction: word }),
  "hingeEmbeddingLoss.reduction": (word) => F.hingeEmbeddingLoss(x(), x(), { reduction: word }),
  "softMarginLoss.reduction": (word) => F.softMarginLoss(x(), x(), { reduction: word }),
  "multilabelSoftMarginLoss.reduction": (word) => F.multilabelSoftMarginLoss(x(), x(), { reduction: word }),
  "Bilinear.dtype": (word) => new nn.Bilinear(1, 1, 1, { dtype: word }),
  "Embedding.dtype": (word) => new nn.Embedding(1, 1, { dtype: word }),
  "fromPretrained.dtype": (word) => nn.Embedding.fromPretrained(ones(1, 1), { dtype: word } as Any),
  "EmbeddingBag.dtype": (word) => new nn.EmbeddingBag(1, 1, { dtype: word }),
  "EmbeddingBag.mode": (word) => (new nn.EmbeddingBag(1, 1, { mode: word }) as Any)([[0]]),
  "embeddingBag.mode": (word) => F.embeddingBag([[0]], ones(1, 1), { mode: word }),
  "finfo.type": (word) => Z.finfo(word),
  "iinfo.type": (word) => Z.iinfo(word),
  "meshgrid.indexing": (word) => Z.meshgrid([ones(2)], { indexing: word }),
  "cdist.computeMode": (word) => (Z as Any).cdist(ones(1, 1), ones(1, 1), 2, word),
  "scatterReduce.reduce": (word) => x().scatterReduce(0, places(), x(), word),
  "indexReduce_.reduce": (word) => x().indexReduce_(0, [0], x(), word),
  "scatterReduce_.reduce": (word) => x().scatterReduce_(0, places(), x(), word),
  "indexReduce.reduce": (word) => x().indexReduce(0, [0], x(), word),
  // Settings
  "setFloat32MatmulPrecision.precision": (word) => Z.setFloat32MatmulPrecision(word),
  "setWarningPolicy.next": (word) => Z.setWarningPolicy(word),
  "errors.setWarningPolicy.next": (word) => Z.errors.setWarningPolicy(word),
  "setPrintoptions.profile": (word) => Z.setPrintoptions({ profile: word }),
  "setTensorDictPrintoptions.sortKeys": (word) => tensordict.setTensorDictPrintoptions({ sortKeys: word }),
  "profiler.table.sortBy": (word) =>
    Z.profiler
      .profile(() => ones(2).add(1))
      .keyAverages()
      .table({ sortBy: word }),
  // Files
  "loadNpy.mode": (word) => io.loadNpy(npy(), { mode: word }),
  "loadTorch.unknown": (word) => io.loadTorch(pt(), { unknown: word }),
  "load.unknown": (word) => loose.load(pt(), { unknown: word }),
  "loadAsync.unknown": (word) => loose.loadAsync(pt(), { unknown: word }),
  "PythonObject.how": (word) => new io.PythonObject(new io.PythonName("a", "B"), { how: word }),
  "loadNpz.mode": (word) => io.loadNpz(npz(), { mode: word }),
  "loadNpy.unknown": (word) => io.loadNpy(npy(), { unknown: word }),
  "loadNpz.unknown": (word) => io.loadNpz(npz(), { unknown: word }),
  "loadNpzAsync.unknown": (word) => io.loadNpzAsync(npz(), { unknown: word }),
  "loadSafetensors.unknown": (word) => Z.loadSafetensors(safetensors(), { unknown: word }),
  "fromSafetensors.unknown": (word) => tensordict.fromSafetensors(safetensors(), { unknown: word }),
  "loadNpzAsync.mode": (word) => io.loadNpzAsync(npz(), { mode: word }),
  "fromFilename.mode": (word) => Z.MemoryMappedTensor.fromFilename(raw(), { shape: [6], mode: word }),
  "densify.layout": (word) => td().densify(word),
  "loadMemmap.mode": (word) => TensorDict.loadMemmap(saved(), { mode: word }),
  "loadMemmap.pickles": (word) => TensorDict.loadMemmap(saved(), { pickles: word }),
  "loadMemmap.device": (word) => TensorDict.loadMemmap(saved(), { device: word }),
  "loadMemmapAsync.mode": (word) => TensorDict.loadMemmapAsync(saved(), { mode: word }),
  "loadMemmapAsync.pickles": (word) => TensorDict.loadMemmapAsync(saved(), { pickles: word }),
  "loadAsync.pickles": (word) => loose.loadAsync(saved(), { pickles: word }),
  "loadMemmap_.mode": (word) => td().loadMemmap_(saved(), { mode: word }),
  "load_.pickles": (word) => td().load_(saved(), { pickles: word }),
  "loadMemmap_.pickles": (word) => td().loadMemmap_(saved(), { pickles: word }),
  "memmapRefresh_.pickles": (word) => td().memmap_(fresh("td")).memmapRefresh_({ pickles: word }),
  "load.mode": (word) => loose.load(saved(), { mode: word }),
  "loadAsync.mode": (word) => loose.loadAsync(saved(), { mode: word }),
  "load.pickles": (word) => loose.load(saved(), { pickles: word }),
  "loadRemote.pickles": (word) => tensordict.loadRemote("s3://bucket/key", { pickles: word }),
  "save.compression": (word) => td().save(fresh("td.tdz"), { archive: true, compression: word }),
  "memmap.compression": (word) => td().memmap(fresh("td.tdz"), { archive: true, compression: word }),
  "memmapLike.compression": (word) => td().memmapLike(fresh("td.tdz"), { archive: true, compression: word }),
  "saveAsync.compression": (word) => td().saveAsync(fresh("td.tdz"), { archive: true, compression: word }),
  "memmapAsync.compression": (word) => td().memmapAsync(fresh("td.tdz"), { archive: true, compression: word }),
  "packMemmap.compression": (word) => Z.packMemmap(saved(), fresh("td.tdz"), { compression: word }),
  "directoryTree.style": (word) => io.directoryTree(saved(), { style: word }),
  "printDirectoryTree.style": (word) => io.printDirectoryTree(saved(), { style: word }),
  "Hdf5File.mode": (word) => new io.Hdf5File(fresh("a.h5"), word),
  "Hdf5File#put.compression": (word) => hdf5().put("a", x(), { compression: word }),
  "Hdf5File#putSteps.compression": (word) => [...hdf5().putSteps("a", x(), { compression: word })],
  "Averages#table.sortBy": (word) => averages().table({ sortBy: word }),
  "toH5.compression": (word) => td().toH5(fresh("a.h5"), { compression: word }),
  "toH5Async.compression": (word) => td().toH5Async(fresh("a.h5"), { compression: word }),
  "fromDict.compression": (word) => Z.PersistentTensorDict.fromDict(td(), fresh("a.h5"), { compression: word }),
  "fromH5.unknown": (word) =>
    Z.PersistentTensorDict.fromH5(
      written("a.h5", (path) => td().toH5(path)),
      { unknown: word },
    ),
  "PersistentTensorDict.unknown": (word) =>
    new loose.PersistentTensorDict({ filename: fresh("a.h5"), mode: "w", unknown: word }),
  "fromH5.mode": (word) =>
    Z.PersistentTensorDict.fromH5(
      written("a.h5", (path) => td().toH5(path)),
      { mode: word },
    ),
  "PersistentTensorDict.compression": (word) =>
    new loose.PersistentTensorDict({ filename: fresh("a.h5"), mode: "w", batchSize: [2], compression: word }).set(
      "a",
      arange(2),
    ),
  "PersistentTensorDict.mode": (word) =>
    new loose.PersistentTensorDict({ filename: fresh("a.h5"), mode: word, batchSize: [2] }),
  // TensorDicts
  "TensorDictParams.noConvert": (word) => new Z.TensorDictParams(td(), { noConvert: word }),
  "setInteractionType.type": (word) => tensordict.nn.setInteractionType(word),
  "TensorDictModule.inplace": (word) =>
    new loose.tensordict.nn.TensorDictModule((a: Any) => a, { ...pass, inplace: word }),
  "TensorDictSequential.inplace": (word) => new loose.tensordict.nn.TensorDictSequential(network(), { inplace: word }),
  "ProbabilisticTensorDictModule.defaultInteractionType": (word) =>
    new loose.tensordict.nn.ProbabilisticTensorDictModule({
      inKeys: ["loc"],
      outKeys: ["c"],
      distributionClass: loose.distributions.Normal,
      defaultInteractionType: word,
    }),
  "ProbabilisticTensorDictModule.distributionClass": (word) =>
    new loose.tensordict.nn.ProbabilisticTensorDictModule({ inKeys: ["loc"], outKeys: ["c"], distributionClass: word }),
  "NormalParamExtractor.scaleMapping": (word) => new loose.tensordict.nn.NormalParamExtractor(word)(ones(4)),
  "AddStateIndependentNormalScale.scaleMapping": (word) =>
    new loose.tensordict.nn.AddStateIndependentNormalScale([1], { scaleMapping: word })(ones(1)),
  "mappings.key": (word) => loose.tensordict.nn.mappings(word),
  "toDict.convertTensors": (word) => td().toDict({ convertTensors: word }),
  "tolist.convertTensors": (word) => td().tolist({ convertTensors: word }),
  "fromArrow.nulls": (word) => loose.TensorDict.fromArrow({}, { nulls: word }),
  "readTable.dtype": (word) => loose.tensordict.readTable("a.csv", { dtype: word }),
  "readTable.format": (word) => loose.tensordict.readTable("a.csv", { format: word }),
  "readTable.nulls": (word) => loose.tensordict.readTable("a.arrow", { nulls: word }),
  "writeTable.format": (word) => loose.tensordict.writeTable("a.csv", [], { format: word }),
  "fromCsv.dtype": (word) => loose.TensorDict.fromCsv(table("a\n1\n"), { dtype: word }),
  "fromJson.dtype": (word) => loose.TensorDict.fromJson(table('[{"a": 1}]'), { dtype: word }),
  "fromParquet.dtype": (word) => loose.TensorDict.fromParquet(parquet, { dtype: word }),
  "norm.p": (word) => loose.norm(x(), word),
  "norm.dtype": (word) => loose.norm(x(), { dtype: word }),
  "vmap.randomness": (word) => loose.func.vmap((t: Any) => t, { randomness: word })(x()),
  "jacfwd.randomness": (word) => loose.func.jacfwd((t: Any) => t, { randomness: word })(x()),
  "get.paddingSide": (word) => Z.lazyStack([td(), td()]).get("a", { asPaddedTensor: true, paddingSide: word }),
  "padSequence.paddingSide": (word) => tensordict.padSequence([td(), td()], { paddingSide: word }),
  "stackFromTensordict.sorted": (word) => td().select("a").stackFromTensordict(0, { sorted: word }),
  ...Object.fromEntries(
    ["var", "std", "prod", "nansum", "nanmean", "min", "mean", "max", "amin", "amax"].map((name) => [
      `TensorDict#${name}.dim`,
      (word: Any) => td()[name]({ dim: word }),
    ]),
  ),
  "load_.mode": (word) => td().load_(saved(), { mode: word }),
  "dumps.compression": (word) => td().dumps(`${folder}/new.tdz`, { archive: true, compression: word }),
  ...Object.fromEntries(
    ["sub", "rsub", "mul", "div", "pow", "maximum", "minimum", "logicalAnd", "bitwiseAnd", "clampMax"].map((name) => [
      `TensorDict#${name}.default`,
      (word: Any) => td().gt(0)[name](td(), { default: word }),
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(WITH_DTYPE).map(([name, call]) => [
      `${name}.dtype`,
      (word: Any) => {
        call({ dtype: word });
      },
    ]),
  ),
};
