/** The tensor room's exports for the rooms above it. */
export * from "./complex.ts";
export * from "./device.ts";
export * from "./dtype.ts";
export * from "./errors.ts";
export * from "./size.ts";
export * from "./storage.ts";
export * from "./tensor.ts";
