/** Where users find an operator: its names, in its own namespace and in others. */
import { camel, type Op } from "./load.ts";

export interface Place {
  /** Empty for the main namespace. */
  readonly namespace: string;
  /** In camelCase, without the underscore of an in-place form. */
  readonly name: string;
  /** The operator as it is there: the same function, with the forms that this place has. */
  readonly op: Op;
}

/** All of them, the own one first. */
export function placesOf(op: Op): Place[] {
  const own = [op.publicName, ...(op.aliases ?? [])].map((name) => ({ namespace: op.namespace ?? "", name, op }));
  const others = (op.also ?? []).map((full): Place => {
    const [, path = "", word = "", tail] = /^(.*)\.(.*?)(_?)$/.exec(full) as RegExpExecArray;
    const namespace = path === "torch" ? undefined : path;
    const name = camel(word);
    const variants = [tail === "_" ? "inplace" : "function"] as const;
    const there = { ...op, namespace, name: word, publicName: name, aliases: undefined, also: undefined, variants };
    return { namespace: namespace ?? "", name, op: there };
  });
  return [...own, ...others];
}
