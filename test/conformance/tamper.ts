// Ways to falsify a golden case. Each returns a changed copy of the case (and of its blob), or null when the case has
// nothing of that kind. A runner worth its name fails every one of them.
import type { CaseSet } from "./case-set.ts";
import type { Case, Code, Encoded, TensorDesc } from "./case-types.ts";
import { contiguousStrides, familyOf, numelOf, tensorDescs } from "./case-types.ts";
import { ITEM_SIZE, isComplexCode } from "./elements.ts";
import { ordersTiesFreely } from "./topk.ts";

export interface Tampered {
  set: CaseSet;
  c: Case;
}

export interface Tampering {
  kind: string;
  /** What the reason must mention: the failure has to be the one that was planted. */
  reason: RegExp;
  apply: (set: CaseSet, c: Case) => Tampered | null;
}

/** Working copy of a case whose storages can be replaced. */
class Draft {
  readonly c: Case;
  private blob: Uint8Array;

  constructor(
    private readonly set: CaseSet,
    c: Case,
  ) {
    this.c = structuredClone(c);
    this.blob = set.blob;
  }

  bytes(s: number): Uint8Array {
    const [off, len] = this.c.S[s] as [number, number];
    return this.blob.slice(off, off + len);
  }

  /** Appends a storage to the table; returns its number. */
  add(bytes: Uint8Array): number {
    const blob = new Uint8Array(this.blob.length + bytes.length);
    blob.set(this.blob);
    blob.set(bytes, this.blob.length);
    this.c.S.push([this.blob.length, bytes.length]);
    this.blob = blob;
    return this.c.S.length - 1;
  }

  done(): Tampered {
    return { set: { cases: this.set.cases, blob: this.blob }, c: this.c };
  }
}

/** Changes one element far beyond any tolerance. */
export function spoil(bytes: Uint8Array, code: Code, element: number): Uint8Array {
  const out = bytes.slice();
  const size = ITEM_SIZE[code];
  const part = isComplexCode(code) ? size / 2 : size;
  const floating = code.includes("f") || isComplexCode(code);
  const at = element * size + (floating ? part - 1 : 0);
  out[at] = (out[at] as number) ^ (floating ? 0x40 : 1);
  return out;
}

function inputStorages(c: Case): Set<number> {
  const values: Encoded[] = [...c.args, ...Object.values(c.kw ?? {})];
  return new Set(values.flatMap((v) => tensorDescs(v)).map((d) => d.s));
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((x, i) => x === b[i]);
}

/** The result tensors of an opinfo, promo or index case. */
function results(c: Case): TensorDesc[] {
  return ["opinfo", "promo", "index"].includes(familyOf(c)) && !ordersTiesFreely(c) ? tensorDescs(c.out) : [];
}

function freshResult(c: Case): TensorDesc | undefined {
  const inputs = inputStorages(c);
  return results(c).find((d) => d.s >= 0 && !inputs.has(d.s) && !d.nv && numelOf(d.sh) > 0);
}

function viewResult(c: Case): TensorDesc | undefined {
  const inputs = inputStorages(c);
  return results(c).find((d) => d.s >= 0 && inputs.has(d.s) && numelOf(d.sh) > 0);
}

/** Lets `change` edit the draft; it returns false when it does not apply. */
function edit(change: (d: Draft) => boolean): Tampering["apply"] {
  return (set, c) => {
    const draft = new Draft(set, c);
    return change(draft) ? draft.done() : null;
  };
}

/** Edits a descriptor found by `find`. */
function editResult(
  find: (c: Case) => TensorDesc | undefined,
  change: (t: TensorDesc, d: Draft) => boolean | undefined,
) {
  return edit((d) => {
    const t = find(d.c);
    return t !== undefined && change(t, d) !== false;
  });
}

const SAME_SIZE: Partial<Record<Code, Code>> = {
  f32: "i32",
  f64: "i64",
  i64: "f64",
  i32: "f32",
  bool: "u8",
  u8: "i8",
  bf16: "f16",
  f16: "bf16",
  c64: "f64",
};

function spoilAt(t: TensorDesc, d: Draft): void {
  t.s = d.add(spoil(d.bytes(t.s), t.dt, t.off ?? 0));
}

export const RESULT_TAMPERINGS: Tampering[] = [
  { kind: "value", reason: /values differ/, apply: editResult(freshResult, spoilAt as never) },
  {
    kind: "shape",
    reason: /shape/,
    apply: editResult(
      (c) => results(c)[0],
      (t) => void t.sh.push(1),
    ),
  },
  {
    kind: "dtype",
    reason: /dtype/,
    apply: editResult(
      (c) => results(c)[0],
      (t) => {
        const other = SAME_SIZE[t.dt];
        if (other === undefined) return false;
        t.dt = other;
        return true;
      },
    ),
  },
  {
    kind: "stride",
    reason: /strides/,
    apply: editResult(
      (c) => viewResult(c) ?? freshResult(c),
      (t) => {
        const dim = t.sh.findIndex((n) => n > 1);
        if (dim < 0) return false;
        t.st = [...(t.st ?? contiguousStrides(t.sh))];
        t.st[dim] = (t.st[dim] as number) + 1;
        return true;
      },
    ),
  },
  {
    kind: "offset",
    reason: /storage offset/,
    apply: editResult(viewResult, (t) => void (t.off = (t.off ?? 0) + 1)),
  },
  {
    kind: "alias lost",
    reason: /shares input storage/,
    apply: editResult(viewResult, (t, d) => void (t.s = d.add(d.bytes(t.s)))),
  },
  {
    kind: "alias invented",
    reason: /not a view of input storage/,
    apply: editResult(freshResult, (t, d) => {
      const inputs = [...inputStorages(d.c)].filter((s) => s >= 0 && d.bytes(s).length > 0);
      if (inputs.length === 0) return false;
      t.s = inputs[0] as number;
      return true;
    }),
  },
  {
    kind: "requires_grad",
    reason: /requires_grad/,
    apply: editResult(
      (c) => results(c).find((t) => t.rg),
      (t) => void delete t.rg,
    ),
  },
  {
    kind: "scalar kind",
    reason: /result|expected/,
    apply: edit((d) => {
      if (typeof d.c.out !== "boolean") return false;
      d.c.out = d.c.out ? 1 : 0;
      return true;
    }),
  },
  {
    kind: "tuple length",
    reason: /results, expected/,
    apply: edit((d) => {
      const list = typeof d.c.out === "object" && !Array.isArray(d.c.out) ? d.c.out?.$tu : undefined;
      if (list === undefined || ordersTiesFreely(d.c)) return false;
      list.push(true);
      return true;
    }),
  },
];

export const EFFECT_TAMPERINGS: Tampering[] = [
  {
    kind: "mutation forgotten",
    reason: /input must not change/,
    apply: edit((d) => {
      const changes = Object.entries(d.c.post ?? {}).some(
        ([s, after]) => !sameBytes(d.bytes(Number(s)), d.bytes(after)),
      );
      return changes && delete d.c.post;
    }),
  },
  {
    kind: "mutation invented",
    reason: /storage contents/,
    apply: edit((d) => {
      const t = d.c.args.flatMap((v) => tensorDescs(v)).find((x) => x.s >= 0 && numelOf(x.sh) > 0 && !x.nv);
      if (familyOf(d.c) !== "opinfo" || d.c.post !== undefined || t === undefined) return false;
      d.c.post = { [t.s]: d.add(spoil(d.bytes(t.s), t.dt, 0)) };
      return true;
    }),
  },
  {
    kind: "mutated contents",
    reason: /storage contents|values differ/,
    apply: edit((d) => {
      const [s, after] = Object.entries(d.c.post ?? {})[0] ?? [];
      const t = d.c.args.flatMap((v) => tensorDescs(v)).find((x) => String(x.s) === s);
      if (s === undefined || t === undefined) return false;
      (d.c.post as Record<string, number>)[s] = d.add(spoil(d.bytes(after as number), t.dt, 0));
      return true;
    }),
  },
  {
    kind: "gradient value",
    reason: /gradient.*values differ/,
    apply: editResult((c) => (c.g ?? []).find((g) => g && g.$t.s >= 0)?.$t, spoilAt as never),
  },
  {
    kind: "gradient missing",
    reason: /expected none/,
    apply: edit((d) => {
      const i = (d.c.g ?? []).findIndex((g) => g !== null);
      if (i < 0) return false;
      (d.c.g as unknown[])[i] = null;
      return true;
    }),
  },
  {
    kind: "error class",
    reason: /error class/,
    apply: edit((d) => {
      const e = d.c.err;
      if (!e || e.type === "Exception" || /TypeError|AttributeError/.test(e.got ?? e.type)) return false;
      e.type = "KeyError";
      if (e.got !== undefined) e.got = "KeyError";
      return true;
    }),
  },
  {
    kind: "error text",
    reason: /message/,
    apply: edit((d) => {
      const e = d.c.err;
      if (!e || /TypeError|AttributeError/.test(e.got ?? e.type)) return false;
      e.msg = `no ${e.msg}`;
      if (e.re !== undefined) e.re = "no such text";
      return true;
    }),
  },
  {
    kind: "error expected",
    reason: /no error/,
    apply: edit((d) => {
      if (familyOf(d.c) !== "opinfo") return false;
      d.c.err = { type: "RuntimeError", got: "RuntimeError", re: "", msg: "" };
      return true;
    }),
  },
  {
    kind: "in-place error expected",
    reason: /in-place: no error/,
    apply: edit((d) => {
      if (d.c.ip === undefined) return false;
      delete d.c.ip;
      d.c.iperr = ["RuntimeError", ""];
      return true;
    }),
  },
  {
    kind: "in-place value",
    reason: /in-place: .*values differ/,
    apply: editResult((c) => {
      const t = freshResult(c);
      if (t === undefined || c.ip !== 1) return undefined;
      c.ip = { $t: { ...t } };
      return c.ip.$t;
    }, spoilAt as never),
  },
];

/** Variables of a program whose storage nothing else looks at. */
function programVar(c: Case): TensorDesc | undefined {
  return (c.vars ?? []).find((t) => t.s >= 0 && numelOf(t.sh) > 0);
}

export const FAMILY_TAMPERINGS: Tampering[] = [
  {
    kind: "printed text",
    reason: /text differs/,
    apply: edit((d) => d.c.repr !== undefined && (d.c.repr = `${d.c.repr.slice(0, -1)} )`) !== ""),
  },
  {
    kind: "random draw",
    reason: /values differ/,
    apply: editResult(
      (c) => tensorDescs(c.calls?.[c.calls.length - 1]?.[3])[0],
      (t, d) => {
        if (numelOf(t.sh) === 0) return false;
        spoilAt(t, d);
        return true;
      },
    ),
  },
  { kind: "program value", reason: /values differ/, apply: editResult(programVar, spoilAt as never) },
  {
    kind: "program version",
    reason: /_version/,
    apply: editResult(programVar, (t) => void (t.ver = (t.ver ?? 0) + 1)),
  },
  {
    kind: "program leaf",
    reason: /is_leaf/,
    apply: editResult(programVar, (t) => void (t.leaf = t.leaf ? 0 : 1)),
  },
  {
    kind: "program view",
    reason: /_is_view/,
    apply: editResult(programVar, (t) => {
      if (t.isv) delete t.isv;
      else t.isv = 1;
      return true;
    }),
  },
  {
    kind: "program sharing",
    reason: /does not share its storage/,
    apply: edit((d) => {
      const seen = new Map<number, TensorDesc>();
      for (const t of d.c.vars ?? []) {
        const other = [...seen.values()].find((o) => o.s !== t.s);
        if (t.s >= 0 && numelOf(t.sh) > 0 && other) {
          t.s = other.s;
          return true;
        }
        if (t.s >= 0) seen.set(t.s, t);
      }
      return false;
    }),
  },
  {
    kind: "program gradient",
    reason: /grad.*values differ/,
    apply: editResult((c) => Object.values(c.grads ?? {})[0]?.$t, spoilAt as never),
  },
  {
    kind: "program error",
    reason: /no error|raised/,
    apply: edit((d) => {
      if (d.c.fam !== "prog" || d.c.err !== undefined) return false;
      d.c.err = { step: 0, type: "RuntimeError", msg: "" };
      return true;
    }),
  },
  {
    kind: "promoted dtype",
    reason: /result_type/,
    apply: edit((d) => {
      if (d.c.rt === undefined || d.c.rt.startsWith("torch.")) return false;
      d.c.rt = d.c.rt === "f32" ? "f64" : "f32";
      return true;
    }),
  },
];
