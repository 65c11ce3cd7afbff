/** A tool call, read from a captured request. */
export interface CapturedCall {
  readonly server: string;
  readonly tool: string;
  /** The arguments as JSON. */
  readonly arguments: string;
}

/** The captured tool call; undefined if the request is not a tool call, or was not captured completely. */
export function capturedCallOf(
  call: { readonly method: string; readonly server: string; readonly name: string },
  body: { readonly request: string; readonly requestTruncated: boolean } | undefined,
): CapturedCall | undefined {
  if (call.method !== "tools/call" || call.server === "" || call.name === "") return undefined;
  if (body === undefined || body.requestTruncated) return undefined;
  // A user could not check such a name in a shell before running the command.
  if (call.server.search(invisible) >= 0 || call.name.search(invisible) >= 0) return undefined;
  // Servers choose the names of tools: one that starts with a dash would be parsed as an option.
  if (call.server.startsWith("-") || call.name.startsWith("-")) return undefined;
  try {
    const { arguments: given = {} } = JSON.parse(body.request) as { readonly arguments?: unknown };
    return { server: call.server, tool: call.name, arguments: JSON.stringify(given).replace(invisible, escaped) };
  } catch {
    return undefined;
  }
}

/** Characters that hide or reorder others. JSON can escape each of them. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

function escaped(text: string): string {
  return text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The command that makes the same call. */
export function commandOf({ server, tool, arguments: given }: CapturedCall): string {
  const words = ["wirescope", "call", server, tool, ...(given === "{}" ? [] : [given])];
  return words.map(quoted).join(" ");
}

/** Whether values are missing that the user has to fill in before the command works. */
export function isRedacted({ arguments: given }: CapturedCall): boolean {
  return given.includes("[redacted]");
}

/** Quotes a word for a POSIX shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
