/** Several copies of a module, each with parameters of its own. */
import { vmap } from "../../func/vmap.ts";
import { installChecks, namedArguments } from "../../tensor/checks.ts";
import { TypeError, ValueError } from "../../tensor/errors.ts";
import { typeName } from "../../tensor/type-name.ts";
import { TensorDictParams } from "../classes/params.ts";
import { TensorDict } from "../classes/tensordict.ts";
import type { Td } from "../core/state.ts";
import { type ModuleLike, toModule } from "../ops/module.ts";
import { lazyStackTds, stackTds } from "../ops/stacking.ts";
import { TensorDictModuleBase } from "./module-base.ts";
import { CONSTRUCTORS, METHODS } from "./signatures.ts";

/** The name of the parameters in states that Python saves. */
const PARAMS = "params_td";

/**
 * Copies of a module with parameters of their own, whose results are stacked in a new first dimension. With
 * `expandInput` false the input has that dimension already, and each copy gets its part. The copies run as one: each
 * operator is called once (`func.vmap`).
 * @example
 * ```ts
 * manualSeed(0);
 * const module = new tensordict.nn.TensorDictModule(new nn.Linear(3, 2), ["a"], ["b"]);
 * const ensemble = new tensordict.nn.EnsembleModule(module, 4);
 * const td = ensemble(new TensorDict({ a: ones(5, 3) }, [5]));
 * [td.get("b").shape, ensemble.module === module, ensemble.paramsTd.get(["module", "weight"]).shape]
 * // [torch.Size([4, 5, 2]), true, torch.Size([4, 2, 3])]
 * ```
 * @torch tensordict.nn.EnsembleModule
 */
export class EnsembleModule extends TensorDictModuleBase {
  /** The module whose parameters are exchanged. */
  declare module: TensorDictModuleBase;
  /** @internal */ declare _expands: boolean;

  constructor(
    module: TensorDictModuleBase,
    numCopies: number | { numCopies: number; expandInput?: boolean },
    expandInput?: boolean | { expandInput?: boolean },
  );
  constructor(...given: unknown[]) {
    super();
    const o = namedArguments("EnsembleModule", CONSTRUCTORS.EnsembleModule, given) as {
      module?: TensorDictModuleBase;
      numCopies?: number;
      expandInput?: boolean;
    };
    const { module } = o;
    if (!(module instanceof TensorDictModuleBase)) {
      throw new TypeError(`EnsembleModule(): argument 'module' must be TensorDictModuleBase, not ${typeName(module)}`);
    }
    if (!((o.numCopies as number) > 0))
      throw new ValueError("EnsembleModule(): argument 'num_copies' must be positive");
    this._inKeys = module.inKeys;
    this._setOutKeys(module.outKeys);
    this.module = module;
    this._expands = o.expandInput ?? true;
    const one: Td = TensorDict.fromModule(module as ModuleLike) as Td;
    const copies = Array.from({ length: o.numCopies as number }, () => this._fresh(one.clone()));
    this.addModule(PARAMS, new TensorDictParams(stackTds(copies, 0) as Td) as never);
  }
  /** The parameters of all copies, one behind the other. */
  get paramsTd(): TensorDictParams {
    return this._modules.get(PARAMS)?._itself as TensorDictParams;
  }
  /** @internal Parameters for one copy, drawn anew. */
  _fresh(parameters: Td): Td {
    return this.module.resetParametersRecursive(parameters) as Td;
  }
  /**
   * Draws the parameters of a TensorDict anew, copy by copy where it has a dimension.
   * @throws ValueError without a TensorDict
   * @torch tensordict.nn.EnsembleModule.reset_parameters_recursive
   */
  override resetParametersRecursive(parameters: Td | null = null): Td | null {
    if (parameters === null) {
      throw new ValueError(
        "Ensembles are functional and require passing a TensorDict of parameters to reset_parameters_recursive",
      );
    }
    if (parameters.ndim === 0) return this._fresh(parameters);
    const copies = parameters.unbind(0).map((copy) => this.resetParametersRecursive(copy as Td) as Td);
    return lazyStackTds(copies, 0);
  }
  /** The results of all copies. */
  override forward(tensordict: Td): Td {
    const one = (input: Td, parameters: Td): Td => {
      const before = toModule(parameters, this.module as ModuleLike, { preserveModuleState: false });
      try {
        return this.module(input);
      } finally {
        before[Symbol.dispose]();
      }
    };
    const input = this._expands ? tensordict.copy() : tensordict;
    return vmap(one, { inDims: [this._expands ? null : 0, 0] })(input, this.paramsTd);
  }
}
installChecks(EnsembleModule.prototype, METHODS);
