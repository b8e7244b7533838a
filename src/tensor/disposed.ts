/** How tensors without elements refuse what others refuse when they were disposed. */
import * as texts from "../../generated/texts.ts";

/** What operators look at before they do nothing for a tensor without elements. */
const REFUSING: PropertyDescriptor = {
  get() {
    throw texts.disposed(undefined);
  },
  enumerable: false,
};

/** A tensor that was disposed fails where its memory is looked for; one without elements has to by itself. */
export function refuseEmpty(t: object): void {
  const [none, no] = [{ value: () => 0 }, { value: () => false }];
  Object.defineProperties(t, {
    _numel: REFUSING,
    _contiguous: REFUSING,
    _bits: REFUSING,
    numel: none,
    nelement: none,
    nbytes: { value: 0 },
    isConj: no,
    isNeg: no,
  });
}
