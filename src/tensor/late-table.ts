/** Tables of which nothing exists but a text, with a line for each thing, until a thing is asked for. */

/**
 * Gives things by name. `lines` gives the text; a line has a name, a blank, and JSON, of which `read` makes the thing,
 * with what the first caller gives beside the name.
 */
export function lateTable<T, Row, Given>(
  lines: () => string,
  read: (row: Row, given: Given) => T,
): (name: string, given: Given) => T {
  const made = new Map<string, T>();
  const make = (name: string, given: Given): T => {
    const text = lines();
    const from = text.indexOf(`\n${name} `) + name.length + 2;
    const thing = read(JSON.parse(text.slice(from, text.indexOf("\n", from))) as Row, given);
    made.set(name, thing);
    return thing;
  };
  return (name, given) => made.get(name) ?? make(name, given);
}
