// Switches of the TensorDict room: how stacks are made, what missing keys give, how things print.
import { checkCall, inOrder } from "../../tensor/checks.ts";
import { Mode } from "../../tensor/modes.ts";
import { FUNCTIONS } from "./signatures.ts";

/** What printing shows. */
export interface PrintOptions {
  /** One short line per TensorDict instead of the detailed form. */
  compact: boolean;
  /** The shapes of tensors. */
  showShape: boolean;
  /** The devices of tensors. */
  showFieldDevice: boolean;
  /** The dtypes of tensors. */
  showDtype: boolean;
  /** Whether tensors are in shared memory or mapped. */
  showFieldIsShared: boolean;
  /** The batch size. */
  showBatchSize: boolean;
  /** The TensorDict's device. */
  showDevice: boolean;
  /** Whether the TensorDict is shared. */
  showIsShared: boolean;
  /** Whether gradients of tensors are recorded. */
  showGrad: boolean;
  /** Whether tensors are contiguous. */
  showIsContiguous: boolean;
  /** Whether tensors are views. */
  showIsView: boolean;
  /** Bytes of the storages of tensors. */
  showStorageSize: boolean;
  /** Mean and standard deviation of tensors, or their smallest and largest element. */
  plain: boolean;
  /** Fields in alphabetical order. */
  sortKeys: boolean | "alphabetical" | "insertion" | null;
}

const DEFAULT_PRINT: PrintOptions = {
  showBatchSize: true,
  showDevice: true,
  showIsShared: true,
  showShape: true,
  showFieldDevice: true,
  showDtype: true,
  showFieldIsShared: true,
  showGrad: false,
  showIsContiguous: false,
  showIsView: false,
  showStorageSize: false,
  plain: false,
  sortKeys: "alphabetical",
  compact: false,
};

/** Whether keys are printed in the order of the alphabet, and not in that of insertion. */
export function keysAreSorted(): boolean {
  const { sortKeys } = settings.print;
  return Boolean(sortKeys) && sortKeys !== "insertion";
}

/** Current values; changed through the functions below. */
export const settings = {
  lazyLegacy: false,
  listToStack: true,
  captureNonTensorStack: false,
  getDefaultsToNull: true,
  print: { ...DEFAULT_PRINT },
};

/** A change that `using` takes back. */
export interface Restorable extends Disposable {
  /** Takes the change back now. */
  restore(): void;
}

type Settings = typeof settings;

/** One stack for each setting. */
const modes = new Map<keyof Settings, Mode<unknown>>();

function change<K extends keyof Settings>(key: K, value: Settings[K], name: string): Restorable {
  let mode = modes.get(key) as Mode<Settings[K]> | undefined;
  if (mode === undefined) {
    mode = new Mode<Settings[K]>(
      () => settings[key],
      (x) => {
        settings[key] = x;
      },
    );
    modes.set(key, mode as Mode<unknown>);
  }
  return mode.change(value, name);
}

/**
 * Whether `stack` of TensorDicts is lazy.
 * @example
 * ```ts
 * const parts = [new TensorDict({ a: ones(1) }, []), new TensorDict({ a: ones(1) }, [])];
 * const change = setLazyLegacy(true);
 * const lazy = stack(parts) instanceof LazyStackedTensorDict;
 * change.restore();
 * [lazy, stack(parts) instanceof LazyStackedTensorDict] // [true, false]
 * ```
 * @torch tensordict.set_lazy_legacy
 */
export function setLazyLegacy(mode: boolean): Restorable {
  [mode] = inOrder("setLazyLegacy", FUNCTIONS.setLazyLegacy, arguments);
  return change("lazyLegacy", mode, "setLazyLegacy");
}

/**
 * Whether `stack` of TensorDicts is lazy.
 * @example
 * ```ts
 * tensordict.lazyLegacy() // false
 * ```
 * @torch tensordict.lazy_legacy
 */
export function lazyLegacy(): boolean {
  checkCall("lazyLegacy", FUNCTIONS.lazyLegacy, arguments);
  return settings.lazyLegacy;
}

/**
 * Whether arrays of non-numbers become stacks of values.
 * @example
 * ```ts
 * const change = tensordict.setListToStack(true);
 * const td = new TensorDict({ name: ["a", "b"] }, [2]);
 * change.restore();
 * td.at(1).at("name") // b
 * ```
 * @torch tensordict.set_list_to_stack
 */
export function setListToStack(mode: boolean): Restorable {
  [mode] = inOrder("setListToStack", FUNCTIONS.setListToStack, arguments);
  return change("listToStack", mode, "setListToStack");
}

/**
 * Whether arrays of non-numbers become stacks of values.
 * @example
 * ```ts
 * tensordict.listToStack() // true
 * ```
 * @torch tensordict.list_to_stack
 */
export function listToStack(): boolean {
  checkCall("listToStack", FUNCTIONS.listToStack, arguments);
  return settings.listToStack;
}

/**
 * Whether stacks of values that are all the same are one value.
 * @example
 * ```ts
 * const change = tensordict.setCaptureNonTensorStack(true);
 * const td = new TensorDict({ a: "x" }, []);
 * const value = stack([td, td]).get("a");
 * change.restore();
 * value.value_ // x
 * ```
 * @torch tensordict.set_capture_non_tensor_stack
 */
export function setCaptureNonTensorStack(mode: boolean): Restorable {
  [mode] = inOrder("setCaptureNonTensorStack", FUNCTIONS.setCaptureNonTensorStack, arguments);
  return change("captureNonTensorStack", mode, "setCaptureNonTensorStack");
}

/**
 * Whether stacks of values that are all the same are one value.
 * @example
 * ```ts
 * tensordict.captureNonTensorStack() // false
 * ```
 * @torch tensordict.capture_non_tensor_stack
 */
export function captureNonTensorStack(): boolean {
  checkCall("captureNonTensorStack", FUNCTIONS.captureNonTensorStack, arguments);
  return settings.captureNonTensorStack;
}

/**
 * Whether `get` of a missing key gives null; otherwise it throws.
 * @example
 * ```ts
 * const change = tensordict.setGetDefaultsToNull(false);
 * let error;
 * try {
 *   new TensorDict({}, []).get("a");
 * } catch (e) {
 *   error = (e as Error).name;
 * }
 * change.restore();
 * [error, new TensorDict({}, []).get("a")] // [KeyError, null]
 * ```
 * @torch tensordict.set_get_defaults_to_none
 */
export function setGetDefaultsToNull(mode: boolean): Restorable {
  [mode] = inOrder("setGetDefaultsToNull", FUNCTIONS.setGetDefaultsToNull, arguments);
  return change("getDefaultsToNull", mode, "setGetDefaultsToNull");
}

/**
 * Whether `get` of a missing key gives null.
 * @example
 * ```ts
 * tensordict.getDefaultsToNull() // true
 * ```
 * @torch tensordict.get_defaults_to_none
 */
export function getDefaultsToNull(): boolean {
  checkCall("getDefaultsToNull", FUNCTIONS.getDefaultsToNull, arguments);
  return settings.getDefaultsToNull;
}

/**
 * How TensorDicts print.
 * @example
 * ```ts
 * const change = tensordict.setTensorDictPrintoptions({ compact: true });
 * const text = String(new TensorDict({ a: ones(2, 3) }, [2]));
 * change.restore();
 * text // TensorDict(batch_size=[2], fields={a: f32[3]})
 * ```
 * @torch tensordict.set_printoptions
 */
export function setTensorDictPrintoptions(options: Partial<PrintOptions> = {}): Restorable {
  [options = {}] = inOrder<[typeof options?]>(
    "setTensorDictPrintoptions",
    FUNCTIONS.setTensorDictPrintoptions,
    arguments,
  );
  return change("print", { ...settings.print, ...options }, "setTensorDictPrintoptions");
}

/**
 * How TensorDicts print now.
 * @example
 * ```ts
 * tensordict.getTensorDictPrintoptions().compact // false
 * ```
 * @torch tensordict.get_printoptions
 */
export function getTensorDictPrintoptions(): PrintOptions {
  checkCall("getTensorDictPrintoptions", FUNCTIONS.getTensorDictPrintoptions, arguments);
  return { ...settings.print };
}
