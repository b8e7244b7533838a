// Which names a misspelt one may have meant.

/** Names that are compared; the rest is not looked at. */
const MOST_NAMES = 20_000;
/** Names of more characters are compared by what they contain only. */
const LONGEST = 200;

/** Insertions, deletions, replacements and exchanges of neighbours that make one text of the other. */
function distance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let [beforeLast, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(
        (last[j] as number) + 1,
        (row[j - 1] as number) + 1,
        (last[j - 1] as number) + (same ? 0 : 1),
      );
      const exchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (exchanged) cost = Math.min(cost, (beforeLast[j - 2] as number) + 1);
      row.push(cost);
    }
    if (Math.min(...row) > most) return most + 1;
    [beforeLast, last] = [last, row];
  }
  return last[b.length] as number;
}

/** How far two names are from each other, 0 for the same; null where they have nothing to do with each other. */
function farness(name: string, other: string): number | null {
  const [a, b] = [name.toLowerCase(), other.toLowerCase()];
  if (a === b) return 0;
  const most = Math.max(1, Math.floor(Math.max(a.length, b.length) / 3));
  const far = a.length > LONGEST || b.length > LONGEST ? most + 1 : distance(a, b, most);
  if (far <= most) return far;
  // A part of a longer name is near, the nearer the more of it there is.
  if (a.length >= 3 && b.length >= 3 && (a.includes(b) || b.includes(a))) return most + Math.abs(a.length - b.length);
  return null;
}

/** The names among `known` that are near a misspelt one, the nearest first. */
export function nearest(name: string, known: Iterable<string>, most = 3): string[] {
  const found: { other: string; far: number }[] = [];
  let seen = 0;
  for (const other of known) {
    if (++seen > MOST_NAMES) break;
    const far = farness(name, other);
    if (far !== null) found.push({ other, far });
  }
  return found
    .sort((a, b) => a.far - b.far)
    .slice(0, most)
    .map(({ other }) => other);
}

/** A sentence for an error: "Did you mean a, b or c?", or nothing. */
export function suggestion(name: string, known: Iterable<string>): string {
  const near = nearest(name, known);
  const last = near.pop();
  if (last === undefined) return "";
  return ` Did you mean ${near.length === 0 ? last : `${near.join(", ")} or ${last}`}?`;
}
