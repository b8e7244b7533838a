/**
 * zensor: PyTorch's tensors and TensorDict for Bun.
 *
 * @module zensor
 */
import "./install.ts";

export * from "../generated/functional.ts";
