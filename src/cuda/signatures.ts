// What the functions and classes of the namespace `cuda` take, as data that src/tensor/checks.ts reads.

const DEVICE = "device?:notDict";

export const FUNCTIONS = {
  isAvailable: "",
  deviceCount: "",
  currentDevice: "",
  setDevice: "device:notDict",
  device: "device:notDict body?:fn",
  getDriverVersion: "",
  emptyCache: "",
  getDeviceName: DEVICE,
  getDeviceCapability: DEVICE,
  getDeviceProperties: DEVICE,
  memGetInfo: DEVICE,
  synchronize: DEVICE,
  currentStream: DEVICE,
  defaultStream: DEVICE,
  setStream: "stream:notDict",
  stream: "stream:notDict body?:fn",
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
  resetAccumulatedMemoryStats: DEVICE,
  memoryStats: DEVICE,
  memorySummary: `${DEVICE} abbreviated?:bool`,
  setPerProcessMemoryFraction: `fraction:number ${DEVICE}`,
  toPointer: "tensor:tensor",
  fromPointer: "given:dict",
  ipcHandle: "tensor:tensor",
  openIpc: `handle:dict ${DEVICE}`,
} as const;

/** The method of tensors. */
export const RECORD_STREAM = "stream:notDict";

/** The constructor of `Stream`. */
export const STREAM = "device?:notDict priority?:int";

/** The constructor of `Event`. */
export const EVENT = "enableTiming?:bool blocking?:bool interprocess?:bool";

/** Methods of the classes. */
export const CLASSES = {
  Stream: {
    query: "",
    synchronize: "",
    waitStream: "stream:notDict",
    waitEvent: "event:notDict",
    recordEvent: "event?:notDict",
    equals: "other:any",
  },
  Event: {
    record: "stream?:notDict",
    wait: "stream?:notDict",
    query: "",
    synchronize: "",
    elapsedTime: "endEvent:notDict",
  },
} as const;
