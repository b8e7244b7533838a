"""Writes src/io/gguf/gguf-grids.ts: the code books of GGUF's types below four bits, as the gguf package has them.

An entry is one 16-bit number, the index of each of its elements' levels in 16 / elements bits, the first lowest.
"""
import base64
from pathlib import Path

import numpy as np
from gguf import quants

OUT = Path(__file__).parents[2] / "src" / "io" / "gguf" / "gguf-grids.ts"
NAMES = {"IQ1_S": "IQ1", "IQ2_XXS": "IQ2_XXS", "IQ2_XS": "IQ2_XS", "IQ2_S": "IQ2_S", "IQ3_XXS": "IQ3_XXS", "IQ3_S": "IQ3_S"}
HEAD = """// Made by scripts/oracle/make_gguf_grids.py from the gguf package; not to be edited.

/** A code book: an entry stands for several elements, each one of a few levels. */
export interface PackedGrid {
  readonly levels: readonly number[];
  /** Elements of an entry. */
  readonly width: number;
  /** Base64 of little-endian 16-bit entries: the indices of the levels, the first element lowest. */
  readonly entries: string;
}

export const GRIDS: Record<string, PackedGrid> = {
"""


def main() -> None:
    text = HEAD
    for name, short in NAMES.items():
        kind = getattr(quants, name)
        kind.init_grid()
        grid = kind.grid.reshape(kind.grid_shape).astype(np.int64)
        levels, width = list(kind.grid_map), grid.shape[1]
        index = np.searchsorted(levels, grid)
        assert (np.array(levels)[index] == grid).all()
        packed = (index << (np.arange(width) * (16 // width))).sum(axis=1).astype("<u2")
        code = base64.b64encode(packed.tobytes()).decode()
        lines = [f'      "{code[at : at + 108]}"' for at in range(0, len(code), 108)]
        text += f"  {short}: {{\n    levels: {levels},\n    width: {width},\n    entries:\n" + " +\n".join(lines) + ",\n  },\n"
    OUT.write_text(text + "};\n")


main()
