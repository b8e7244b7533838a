// Reads a signature of the tables in src: `name:kind` for each argument, after `|` the options.

export interface Parameter {
  name: string;
  kind: string;
  optional: boolean;
  rest: boolean;
}

export interface Signature {
  /** Arguments that have places. */
  positional: Parameter[];
  /** Arguments that are given by name only. */
  options: Parameter[];
}

const words = (part: string) => part.split(" ").filter((word) => word !== "");

function parameter(word: string, optional: boolean): Parameter {
  const [name, kind] = word.split(":") as [string, string];
  const bare = name.replace(/^\.\.\.|[?!]$/g, "");
  return { name: bare, kind: kind.replace("?", ""), optional, rest: name.startsWith("...") };
}

/** A signature in its parts; options may be missing unless `!` says otherwise. */
export function parseSignature(signature: string): Signature {
  const [before = "", after = ""] = signature.split("|");
  return {
    positional: words(before).map((word) => parameter(word, word.includes("?:"))),
    // What options of any other name are (`**:kind`) has no name itself.
    options: words(after)
      .filter((word) => !word.startsWith("**"))
      .map((word) => parameter(word, !word.includes("!:"))),
  };
}
