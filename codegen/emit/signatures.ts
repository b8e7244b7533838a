/** The overloads behind a public name: the form that people write first, then the others. */
import type { Arg, Model, Op } from "../model/load.ts";
import { collectionForms } from "./collections.ts";
import { docOf, overloadDoc } from "./docs.ts";
import { type Form, fewest, formsOf, type Param, type Place, textOf } from "./forms.ts";
import { resultType } from "./ops.ts";
import { inputType, isGathered, isSize, OptionTypes } from "./options.ts";

const has = (op: Op, v: string): boolean => (op.variants as readonly string[]).includes(v);

/** Overloads that come before those that the schema has first. */
const FIRST: Readonly<Record<string, readonly string[]>> = {
  where: [""],
};

/** What users see of the result: bools are known, so that `item()` is one. */
function publicResult(op: Op): string {
  return op.promote === "compare" || op.promote === "bool" || op.ofBools ? "BoolTensor" : resultType(op);
}

/** torch's name of an argument. */
const shownName = (a: Arg): string => (a.name === "self" ? "input" : a.name);

/** What is shared by all forms of an operator: the dtype that is asked for may be that of the result. */
function headOf(op: Op, of: number, skipSelf: boolean, inplace: boolean): Omit<Form, "params"> {
  if (inplace) return { of, open: "", result: skipSelf ? "this" : "Tensor" };
  const dtype = op.ofDtype ? op.args.find((a) => a.name === "dtype") : undefined;
  if (dtype === undefined) return { of, open: "", result: publicResult(op) };
  // A dtype that is not given is null.
  const none = dtype.fallback === undefined ? "" : " | null = null";
  return { of, open: `<const D extends DTypeLike${none}>`, result: "OfDType<D>" };
}

/** The forms of one operator. */
function opForms(types: OptionTypes, op: Op, name: string, of: number, skipSelf: boolean, inplace: boolean): Form[] {
  const self = skipSelf ? 1 : 0;
  const positional = op.args.filter((a) => !a.byName).slice(self);
  const named = op.args.filter((a) => a.byName);
  const head = headOf(op, of, skipSelf, inplace);
  const optionsAt = (place: number) => {
    const rest = [...positional.slice(place), ...named];
    return types.typeOf(op, name, rest, place + self - (op.args[0]?.name === "self" ? 1 : 0), inplace);
  };
  const variadic = positional.findIndex((a) => isSize(a) || isGathered(op, a));
  const open = variadic >= 0 && variadic === positional.length - 1;
  const places = positional.map((a): Place => {
    const type = isSize(a) ? "readonly number[]" : op.ofDtype && a.name === "dtype" ? "D" : inputType(a);
    return { name: shownName(a), type, required: a.fallback === undefined };
  });
  const forms = formsOf(places, optionsAt, head, !skipSelf && !open);
  if (!open) return forms;
  const size: Param = {
    name: shownName(positional[variadic] as Arg),
    types: [isSize(positional[variadic] as Arg) ? "number" : "Tensor", optionsAt(positional.length)].filter(
      (t) => t !== null,
    ),
    rest: true,
  };
  const before = places.slice(0, variadic).map((p): Param => ({ name: p.name, types: [p.type] }));
  return [{ ...head, params: [...before, size] }, ...forms];
}

/** All forms of the operators behind one name. */
export function groupForms(
  types: OptionTypes,
  name: string,
  ops: readonly Op[],
  skipSelf: boolean,
  inplace: boolean,
): { forms: Form[]; ops: readonly Op[] } {
  const first = FIRST[name] ?? [];
  const rank = (op: Op): number => (first.includes(op.overload ?? "") ? 0 : 1);
  const order = [...ops].sort((a, b) => rank(a) - rank(b));
  const all = order.map((op, i) => opForms(types, op, name, i, skipSelf, inplace));
  return {
    forms: alone(
      types,
      fewest(all.flat(), (wide, narrow) => types.covers(wide, narrow)),
    ),
    ops: order,
  };
}

/**
 * A form that takes options alone would be taken for what an empty object means, and an editor would offer no others:
 * where there are more forms, its object has to have something.
 */
function alone(types: OptionTypes, forms: readonly Form[]): Form[] {
  const isAlone = ({ params }: Form) => params.length === 1 && params[0]?.name === "options" && params[0].optional;
  const options = forms.filter((form) => isAlone(form));
  if (options.length === 0 || forms.length === 1) return [...forms];
  const others = forms.filter((form) => !isAlone(form));
  const need = options.map((form): Form => {
    const [only] = form.params as [Param];
    return { ...form, params: [{ name: only.name, types: only.types.map((type) => types.oneOf(type)) }] };
  });
  return [...options.map((form): Form => ({ ...form, params: [] })), ...others, ...need];
}

const OF_COLLECTION = "Of a collection. ";

/** All signatures of a group behind one name; each after the first has a short comment of its own. */
export function declared(
  types: OptionTypes,
  group: { readonly name: string; readonly ops: readonly Op[] },
  head: string,
  indent: string,
  skipSelf: boolean,
  inplace: boolean,
): string[] {
  const { forms, ops } = groupForms(types, group.name, group.ops, skipSelf, inplace);
  const more = skipSelf || inplace ? [] : collectionForms(group.name).map((form) => ({ form, before: OF_COLLECTION }));
  const own = forms.map((form) => ({ form, before: "" }));
  const all = [...own, ...more];
  const out = docOf(ops, inplace, indent);
  const at = (place: Form["place"]) => all.filter(({ form }) => form.place === place);
  const order = [...at(undefined), ...at("named"), ...at("last").reverse()];
  for (const [i, { form, before }] of order.entries()) {
    if (i > 0) out.push(overloadDoc(ops[form.of] as Op, inplace, indent, before));
    out.push(`${indent}${head}${textOf(form)};`);
  }
  return out;
}

const tables = new WeakMap<Model, OptionTypes>();

/** The types of options of a model's operators, named in the order in which the schema has these. */
export function optionTypesOf(model: Model): OptionTypes {
  const known = tables.get(model);
  if (known !== undefined) return known;
  const made = new OptionTypes(model.ops.filter((op) => !op.internal).map((op) => op.publicName));
  tables.set(model, made);
  const offered = model.ops.filter((op) => !op.internal);
  for (const isMethod of [true, false]) nameAll(made, offered, isMethod);
  made.endSurvey();
  for (const isMethod of [true, false]) nameAll(made, offered, isMethod);
  return made;
}

/** Asks for all types of options of the methods, or of the functions. */
function nameAll(types: OptionTypes, ops: readonly Op[], isMethod: boolean): void {
  for (const op of ops) {
    if (has(op, isMethod ? "method" : "function")) groupForms(types, op.publicName, [op], isMethod, false);
    if (has(op, "inplace")) groupForms(types, op.publicName, [op], isMethod, true);
  }
}
