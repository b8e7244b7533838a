// Parquet files, read column by column: what they say of themselves is checked before any of their values is read.

import { type ArrowBytes, schemaOf } from "../arrow/ipc.ts";
import type { ArrowField } from "../arrow/types.ts";
import { FormatError } from "../base/errors.ts";
import { BadCode } from "../codec/bad-code.ts";
import type { Column, Columns } from "../columns/columns.ts";
import { Growth } from "../columns/growth.ts";
import { BadFile } from "./bad-file.ts";
import { type Footer, footerOf, footerPlace, type RowGroup, type SchemaNode } from "./footer.ts";
import { readLeaf, SPARE } from "./pages.ts";
import { columnOf, type Part } from "./rows.ts";

/** Rows that need no column. */
const MOST_EMPTY = 2 ** 20;

function leavesOf(node: SchemaNode): SchemaNode[] {
  return node.children.length === 0 ? [node] : node.children.flatMap(leavesOf);
}

/** A file whose description has been read. */
export class ParquetFile {
  private readonly footer: Footer;
  private readonly wanted: { node: SchemaNode; leaves: SchemaNode[]; field: ArrowField | null }[];
  private readonly growth: Growth;

  /** @param columns the columns that are read; null for all */
  constructor(
    private readonly bytes: ArrowBytes,
    private readonly path: string,
    columns: readonly string[] | null,
  ) {
    this.growth = new Growth(bytes.size, path);
    this.footer = this.named(() => {
      const tail = bytes.read(Math.max(0, bytes.size - 8), Math.min(8, bytes.size));
      const { start, length } = footerPlace(bytes.size, tail);
      return footerOf(bytes.read(start, length), bytes.size);
    });
    const { root, arrowSchema, rows } = this.footer;
    if (root.children.length === 0 && rows > MOST_EMPTY) throw this.refusal(`no column holds its ${rows} rows`);
    const fields = arrowSchema === null ? [] : schemaOf(Buffer.from(arrowSchema, "base64"), path);
    const names = new Set<string>();
    for (const { name } of root.children) {
      if (names.size === names.add(name).size) throw new FormatError(`two columns have the name '${name}'`, path);
    }
    const chosen = columns === null ? null : new Set(columns);
    const missing = (columns ?? []).filter((name) => !names.has(name));
    if (missing.length > 0) throw new FormatError(`it has no column '${missing.join("', '")}'`, path);
    const known = new Map(fields.map((field) => [field.name, field]));
    this.wanted = root.children
      .filter(({ name }) => chosen === null || chosen.has(name))
      .map((node) => ({ node, leaves: leavesOf(node), field: known.get(node.name) ?? null }));
  }

  private refusal(what: string, cause?: unknown): FormatError {
    return new FormatError(`it is no Parquet file that can be read: ${what}`, this.path, cause);
  }

  private named<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      if (error instanceof BadFile || error instanceof BadCode) throw this.refusal(error.message, error);
      throw error;
    }
  }

  private part(group: RowGroup, leaves: readonly SchemaNode[]): Part {
    const { size } = this.bytes;
    const read = leaves.map((leaf) => {
      const chunk = group.chunks[leaf.column];
      if (chunk === undefined) throw new BadFile(`the column '${leaf.name}' is not described`);
      const length = Math.min(chunk.size + SPARE, size - 8 - chunk.start);
      return readLeaf(leaf, chunk, this.bytes.read(chunk.start, length), this.growth, this.path);
    });
    return { rows: group.rows, first: leaves[0]?.column ?? 0, leaves: read };
  }

  private columns(groups: readonly RowGroup[]): Columns {
    return this.named(() => {
      const columns = new Map<string, Column>();
      for (const { node, leaves, field } of this.wanted) {
        const parts = groups.map((group) => this.part(group, leaves));
        columns.set(node.name, columnOf(node, field, parts, this.growth, this.path));
      }
      return { columns, rows: groups.reduce((n, group) => n + group.rows, 0) };
    });
  }

  /** The row groups that have rows; one without any where there is none, so that columns have their types. */
  private get groups(): readonly RowGroup[] {
    const { groups } = this.footer;
    const filled = groups.filter(({ rows }) => rows > 0);
    if (filled.length > 0) return filled;
    const chunks = this.wanted.flatMap(({ leaves }) => leaves);
    const none = { codec: "none", method: 0, values: 0, start: 4, size: 0 } as const;
    return [
      { rows: 0, chunks: Array.from({ length: Math.max(0, ...chunks.map((leaf) => leaf.column + 1)) }, () => none) },
    ];
  }

  /** All rows. */
  all(): Columns {
    return this.columns(this.groups);
  }

  /** The rows of one row group after the other. */
  *parts(): Generator<Columns> {
    for (const group of this.groups) yield this.columns([group]);
  }
}
