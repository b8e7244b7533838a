/** Devices, and what one of them cannot do. */
import type { TextSchema } from "../../model/types.ts";

export const texts = [
  {
    name: "differentDevices",
    error: "RuntimeError",
    code: "device",
    text: "Expected all tensors to be on the same device, but found at least two devices, {a} and {b}!",
  },
  {
    name: "argumentOnOtherDevice",
    error: "RuntimeError",
    code: "device",
    text:
      "Expected all tensors to be on the same device, but got {name} is on {device}, different from other tensors on " +
      "{common} (when checking argument in method wrapper_CUDA_{checker})",
  },
  {
    name: "manySinglesOnCpu",
    error: "RuntimeError",
    code: "device",
    text: "Trying to pass too many CPU scalars to non-CPU kernel!",
  },
  {
    name: "indicesOnOtherDevice",
    error: "RuntimeError",
    code: "device",
    text: "indices should be either on cpu or on the same device as the indexed tensor ({device})",
  },
  {
    name: "maskOnOtherDevice",
    error: "RuntimeError",
    code: "device",
    text: "expected self and mask to be on the same device, but got mask on {mask} and self on {self}",
  },
  {
    name: "fillValueOnGpu",
    error: "RuntimeError",
    code: "device",
    text: "masked_fill_: Expected inputs to be on same device",
  },
  {
    name: "quantileOnOtherDevice",
    error: "RuntimeError",
    code: "device",
    text: "quantile() {what} tensor must be on the same device as the input tensor",
  },
  {
    name: "copyFromMeta",
    error: "NotImplementedError",
    code: "meta",
    text: "Cannot copy out of meta tensor; no data!",
  },
  {
    name: "launchedOnMeta",
    error: "RuntimeError",
    code: "runtime",
    text: "{kernel} was launched on the meta device",
  },
  {
    name: "noCudaSupport",
    error: "RuntimeError",
    code: "cuda",
    text: "zensor was loaded without its CUDA support",
  },
  {
    name: "createOnCpu",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "{op}: create the tensor on the CPU and move it with to('{device}')",
  },
  {
    name: "equalOnMeta",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "equal(): meta tensors have no elements to compare",
  },
  {
    name: "setAcrossDevices",
    error: "RuntimeError",
    code: "runtime",
    text:
      'Attempted to set the storage of a tensor on device "{own}" to a storage on different device "{other}".  ' +
      "This is no longer allowed; the devices must match.",
  },
  {
    name: "unknownDevice",
    error: "RuntimeError",
    code: "device",
    text: "Expected one of cpu, cuda, meta device type at start of device string: {type}",
  },
  {
    name: "invalidDevice",
    error: "RuntimeError",
    code: "device",
    text: "Invalid device string: '{device}'",
  },
  {
    name: "emptyDevice",
    error: "RuntimeError",
    code: "device",
    text: "Device string must not be empty",
  },
  {
    name: "deviceIndexTwice",
    error: "RuntimeError",
    code: "device",
    text: "type (string) must not include an index because index was passed explicitly: {device}",
  },
  {
    name: "negativeDeviceIndex",
    error: "RuntimeError",
    code: "device",
    text: "Device index must not be negative",
  },
  {
    name: "notAGpu",
    error: "RuntimeError",
    code: "device",
    text: "Invalid device, must be cuda device",
  },
  {
    name: "cannotPin",
    error: "RuntimeError",
    code: "device",
    text: "cannot pin '{type}' only dense CPU tensors can be pinned",
  },
  {
    name: "pinnedOnGpu",
    error: "RuntimeError",
    code: "device",
    text: "Only dense CPU tensors can be pinned",
  },
] as const satisfies readonly TextSchema[];
