// What the functions of the namespace `cuda` take, as data that src/tensor/checks.ts reads.

const DEVICE = "device?:notDict";

export const FUNCTIONS = {
  isAvailable: "",
  deviceCount: "",
  currentDevice: "",
  getDriverVersion: "",
  emptyCache: "",
  getDeviceName: DEVICE,
  getDeviceCapability: DEVICE,
  getDeviceProperties: DEVICE,
  memGetInfo: DEVICE,
  synchronize: DEVICE,
  memoryAllocated: DEVICE,
  maxMemoryAllocated: DEVICE,
  maxMemoryReserved: DEVICE,
  memoryReserved: DEVICE,
  resetPeakMemoryStats: DEVICE,
} as const;
