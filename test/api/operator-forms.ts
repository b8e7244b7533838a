// All forms of the schema's operators: functions, methods and methods in place, under each of their names.

import type { Model, Op } from "../../codegen/model/load.ts";
import { placesOf } from "../../codegen/model/places.ts";
import * as generated from "../../generated/functional.ts";
import * as Z from "../../src/index.ts";

type Call = (...args: unknown[]) => unknown;
type Home = Record<string, unknown>;

export interface OperatorForm {
  op: Op;
  form: "function" | "method" | "inplace";
  name: string;
  /** What users call; undefined when it is missing. */
  fn: Call | undefined;
  /** It is a method of the first argument. */
  ofSelf: boolean;
}

const FORMS = ["function", "method", "inplace"] as const;

function formOf(op: Op, form: OperatorForm["form"], name: string): OperatorForm {
  const key = form === "inplace" ? `${name}_` : name;
  const namespace = (op.namespace ?? "").split(".").filter((part) => part !== "");
  const ofSelf = form !== "function" && namespace.length === 0;
  const start: Home =
    namespace.length > 0 ? { ...Z } : ofSelf ? (Z.Tensor.prototype as object as Home) : { ...generated };
  const home = namespace.reduce<Home | undefined>((at, part) => at?.[part] as Home | undefined, start);
  return { op, form, name, fn: home?.[key] as Call | undefined, ofSelf };
}

export function operatorForms(model: Model): OperatorForm[] {
  return model.ops
    .filter((op) => !op.internal)
    .flatMap((op) =>
      FORMS.filter((form) => (op.variants as readonly string[]).includes(form)).flatMap((form) =>
        placesOf(op)
          .filter((place) => (place.op.variants as readonly string[]).includes(form))
          .map((place) => formOf(place.op, form, place.name)),
      ),
    );
}
