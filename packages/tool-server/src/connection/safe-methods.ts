/**
 * Requests that change nothing on the server, so that one which may have arrived can be sent once more. A tool may do
 * anything: what it says of itself in its annotations is no promise.
 */
const safeMethods: ReadonlySet<string> = new Set([
  "ping",
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "server/discover",
]);

/** Whether a request of this method may be sent twice. */
export function isSafeMethod(method: string): boolean {
  return safeMethods.has(method);
}
