/** What is wrong with a Parquet file; who opened it says which one. */
export class BadFile extends Error {}
