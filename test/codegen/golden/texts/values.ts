/** Texts of each kind for the golden emits. */
import type { TextSchema } from "../../../../codegen/model/types.ts";

export const texts = [
  {
    name: "tooDark",
    error: "RuntimeError",
    code: "dark",
    text: "lamp {index} of `$" + "{all}` has sizes {sizes}, {index} again",
  },
  { name: "noLamp", error: "ValueError", code: "value", text: "{op}: no\nlamp" },
  { name: "gettingDark", warning: "UserWarning", text: "it gets dark at {hour}" },
] as const satisfies readonly TextSchema[];
