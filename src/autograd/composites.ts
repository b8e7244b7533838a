/** Operators written with other operators: what the generated code calls through the registry. */
export * from "./composites-storage.ts";
export * from "./composites-views.ts";
