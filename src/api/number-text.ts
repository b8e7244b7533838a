/** Numbers as C and Python print them: fixed and scientific notation with exact halves rounded to even, and repr. */

const TEN = 10n;

/** True when the decimal digits after position `digits` are exactly a five and zeros. */
function isTie(tail: string): boolean {
  if (tail.charCodeAt(0) !== 53) return false;
  for (let i = 1; i < tail.length; i++) if (tail.charCodeAt(i) !== 48) return false;
  return true;
}

/** `%.{precision}f` */
export function fixed(x: number, precision: number): string {
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x < 0 ? "-inf" : "inf";
  const sign = x < 0 || Object.is(x, -0) ? "-" : "";
  const a = Math.abs(x);
  // Beyond this every double is an integer, and toFixed would turn to exponents.
  if (a >= 1e21) return `${sign}${BigInt(a)}${precision > 0 ? `.${"0".repeat(precision)}` : ""}`;
  // Only a multiple of 2^-(precision + 1) can lie halfway between two results.
  if (Number.isInteger(a * 2 ** (precision + 1)) && !Number.isInteger(a)) {
    const long = a.toFixed(Math.min(100, precision + 30));
    const cut = long.indexOf(".") + 1 + precision;
    if (isTie(long.slice(cut))) return sign + roundEven(long.slice(0, cut), precision);
  }
  return sign + a.toFixed(precision);
}

/** Digits cut at a tie, rounded to the even neighbour. */
function roundEven(kept: string, precision: number): string {
  let n = BigInt(kept.replace(".", ""));
  if (n % 2n === 1n) n += 1n;
  const digits = n.toString().padStart(precision + 1, "0");
  if (precision === 0) return digits;
  return `${digits.slice(0, -precision)}.${digits.slice(-precision)}`;
}

/** `%.{precision}e`, with at least two digits in the exponent. */
export function scientific(x: number, precision: number): string {
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x < 0 ? "-inf" : "inf";
  const sign = x < 0 || Object.is(x, -0) ? "-" : "";
  const a = Math.abs(x);
  let text = a.toExponential(precision);
  const long = a.toExponential(Math.min(100, precision + 30));
  const [mantissa, exponent] = long.split("e") as [string, string];
  const cut = precision + 2;
  if (isTie(mantissa.slice(cut))) {
    const kept = mantissa.slice(0, cut).replace(".", "");
    let n = BigInt(kept);
    if (n % 2n === 1n) n += 1n;
    let e = Number(exponent);
    if (n === TEN ** BigInt(precision + 1)) {
      n /= TEN;
      e++;
    }
    const digits = n.toString();
    text = `${digits[0]}${precision > 0 ? `.${digits.slice(1)}` : ""}e${e < 0 ? "-" : "+"}${Math.abs(e)}`;
  }
  return sign + text.replace(/e([+-])(\d)$/, "e$10$2");
}

/** Python's `repr` of a float: the shortest digits that read back the same. */
export function pythonFloat(x: number): string {
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x < 0 ? "-inf" : "inf";
  if (Object.is(x, -0)) return "-0.0";
  const a = Math.abs(x);
  if (a !== 0 && (a >= 1e16 || a < 1e-4)) {
    const [m, e] = x.toExponential().split("e") as [string, string];
    const n = Number(e);
    return `${m}e${n < 0 ? "-" : "+"}${String(Math.abs(n)).padStart(2, "0")}`;
  }
  const text = String(x);
  return text.includes(".") ? text : `${text}.0`;
}

/** Python's `repr` of a complex number: `(1+2j)`, `2j` when the real part is +0. */
export function pythonComplex(re: number, im: number): string {
  const part = (x: number): string => pythonFloat(x).replace(/\.0$/, "");
  if (re === 0 && !Object.is(re, -0)) return `${part(im)}j`;
  const imaginary = part(im);
  return `(${part(re)}${/^[-+]/.test(imaginary) ? "" : "+"}${imaginary}j)`;
}
