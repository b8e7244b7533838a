/** Python's order of texts, which is that of their UTF-8 bytes too: by code points, not by UTF-16 units. */
export function byCodePoints(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  let at = 0;
  while (at < shorter && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  if (at === shorter) return a.length - b.length;
  // Two pairs may share their first half.
  const before = at > 0 ? a.charCodeAt(at - 1) : 0;
  if (before >= 0xd800 && before < 0xdc00) at--;
  return (a.codePointAt(at) as number) - (b.codePointAt(at) as number);
}
