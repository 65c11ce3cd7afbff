/** Where text goes. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** All that the command line touches of its process. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  now(): Date;
}

/** The Io of this process. */
export function processIo(): Io {
  return { stdout: process.stdout, stderr: process.stderr, env: process.env, now: () => new Date() };
}
