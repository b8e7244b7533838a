// Other runtimes get one sentence; the library would fail at its first native call, with a page of their loader's lines.
if (typeof Bun === "undefined") {
  const error = new Error("zensor needs Bun 1.4.5 or newer (https://bun.sh): run this program with `bun`.");
  error.stack = `Error: ${error.message}`;
  throw error;
}
