/** What is wrong with compressed bytes; readers of files say which file. */
export class BadCode extends Error {}
