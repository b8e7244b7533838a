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
  manualSeed: "seed:notDict",
  manualSeedAll: "seed:notDict",
  seed: "",
  seedAll: "",
  initialSeed: "",
  getRngState: DEVICE,
  setRngState: "newState:notDict device?:notDict",
} as const;
