// Which kernels a device was asked for while a test ran.
import { loadModel } from "../../codegen/model/load.ts";
import { backends } from "../../src/dispatch/backend.ts";
import { toDevice } from "../../src/tensor/device.ts";

/** Kernels that draw: a device's numbers are not the CPU's, and test/cuda/random.test.ts looks at them. */
export const DRAWING = [
  ...["bernoulli", "bernoulli_each", "cauchy", "default_range", "exponential", "from_to", "full_64", "geometric"],
  ...["largest", "log_normal", "multinomial", "normal", "randperm", "uniform"],
].map((name) => `random.${name}`);

/** The kernels that the schema names for CUDA. */
export const named: ReadonlySet<string> = new Set(loadModel().ops.flatMap((op) => op.kernels?.cuda ?? []));

export interface Launches {
  readonly launched: Set<string>;
  /** Those that the device does not have. */
  readonly lacking: Set<string>;
  restore(): void;
}

/** Notes what is launched from now on, until `restore`. */
export function watchLaunches(): Launches {
  toDevice("cuda");
  const cuda = backends.cuda as NonNullable<(typeof backends)["cuda"]>;
  const { launch } = cuda;
  const found = {
    launched: new Set<string>(),
    lacking: new Set<string>(),
    restore: () => void (cuda.launch = launch),
  };
  cuda.launch = (kernel, device) => {
    try {
      const status = launch(kernel, device);
      found.launched.add(kernel.path);
      return status;
    } catch (error) {
      if ((error as { code?: string }).code === "cuda_no_kernel") found.lacking.add(kernel.path);
      throw error;
    }
  };
  return found;
}
