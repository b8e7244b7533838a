// How the programs of this folder are compiled.

/** What programs that use the package may say to the compiler. */
export const COMPILER = {
  strict: true,
  noEmit: true,
  target: "es2022",
  lib: ["es2022"],
  module: "preserve",
  moduleResolution: "bundler",
  moduleDetection: "force",
  skipLibCheck: false,
  types: [],
};

/** In what else the five configurations differ. */
export const CONFIGS: Record<string, { exactOptionalPropertyTypes?: boolean } & Record<string, unknown>> = {
  strict: {},
  "with skipLibCheck": { skipLibCheck: true },
  "with unchecked indices and exact options": { noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true },
  "as node modules": { module: "nodenext", moduleResolution: "nodenext" },
  "with verbatim modules and the latest library": { verbatimModuleSyntax: true, lib: ["esnext"] },
};

/** Programs that compile and run. */
export const PROGRAMS = ["tensors.mts", "collections.mts", "training.mts", "by-name.mts"];
