/** The namespace `errors`. */
export * from "../tensor/errors.ts";
export { setWarningPolicy, warn } from "./defaults.ts";
