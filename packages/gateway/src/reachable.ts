/**
 * The url or address of a listener as clients reach it. One that listens on every address is called by `name`, the first of those that it
 * goes by, else by the loopback: "every address" is nothing to connect to.
 */
export function reachable(text: string, name: string | undefined): string {
  return text
    .replace(/(?<=^|\/\/)0\.0\.0\.0(?=:\d+$)/, () => name ?? "127.0.0.1")
    .replace(/(?<=^|\/\/)\[::\](?=:\d+$)/, () => name ?? "[::1]");
}
