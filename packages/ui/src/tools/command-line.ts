import type { Run } from "../shell/mcp/index.js";

/**
 * The command that does the same as a run; undefined if a word of it would be parsed as an option. Servers choose the names of tools and
 * arguments, and must not be able to add options to a pasted command.
 */
export function commandLine({ offer, method, params }: Pick<Run, "offer" | "method" | "params">): string | undefined {
  const { server, name } = offer;
  const args = params.arguments;
  switch (method) {
    case "resources/read":
      return words("resources", server, String(params.uri));
    case "prompts/get":
      return words("prompts", server, name, ...Object.entries(args ?? {}).map(([key, value]) => `${key}=${value}`));
    default: {
      const isEmpty = typeof args !== "object" || args === null || Object.keys(args).length === 0;
      return words("call", server, name, ...(isEmpty ? [] : [JSON.stringify(args)]));
    }
  }
}

function words(...parts: readonly string[]): string | undefined {
  if (parts.some((part) => part.startsWith("-"))) return undefined;
  return ["wirescope", ...parts.map(quoteForShell)].join(" ");
}

/** Quotes a word for POSIX shells. Control characters are escaped, so that a pasted command is always one line. */
export function quoteForShell(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (!/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  const escaped = word.replace(/[\\'\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character === "\\" || character === "'"
      ? `\\${character}`
      : [...new TextEncoder().encode(character)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join(""),
  );
  return `$'${escaped}'`;
}
