/** Whether this process runs tests: the environment says so, or the name of its first file. */
export function runsTests(): boolean {
  return process.env.NODE_ENV === "test" || /[._](test|spec)\.[cm]?[jt]sx?$/.test(Bun.main);
}
