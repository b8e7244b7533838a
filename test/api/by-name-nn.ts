// Values of what the modules of `nn` take that have no others like them, for the tests of names.
import { ones } from "../../src/index.ts";

export const NN_VALUES: Readonly<Record<string, () => unknown>> = {
  "new nn.BatchNorm1d.numFeatures": () => 3,
  "new nn.BatchNorm2d.numFeatures": () => 3,
  "new nn.BatchNorm3d.numFeatures": () => 3,
  "new nn.InstanceNorm1d.numFeatures": () => 3,
  "new nn.InstanceNorm2d.numFeatures": () => 3,
  "new nn.InstanceNorm3d.numFeatures": () => 3,
  "new nn.GroupNorm.numGroups": () => 1,
  "new nn.GroupNorm.numChannels": () => 3,
  "nn.BatchNorm1d#forward.input": () => ones(2, 3),
  "nn.BatchNorm2d#forward.input": () => ones(2, 3, 2, 2),
  "nn.BatchNorm3d#forward.input": () => ones(2, 3, 2, 2, 2),
  "nn.InstanceNorm1d#forward.input": () => ones(3, 2),
  "nn.InstanceNorm2d#forward.input": () => ones(3, 2, 2),
  "nn.InstanceNorm3d#forward.input": () => ones(3, 2, 2, 2),
  "nn.GroupNorm#forward.input": () => ones(2, 3),
  affine: () => true,
  trackRunningStats: () => true,
  momentum: () => 0.25,
};
