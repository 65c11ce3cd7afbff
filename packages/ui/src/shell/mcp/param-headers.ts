const key = "x-mcp-header";
const maxDepth = 20;

/**
 * The headers that repeat tool arguments: the schema marks them with `x-mcp-header`, and the gateway rejects a call in which header
 * and argument differ. It offers no tool with invalid marks.
 */
export function paramHeaders(inputSchema: unknown, args: unknown, depth = 0): Readonly<Record<string, string>> {
  const properties = memberOf(inputSchema, "properties");
  if (typeof properties !== "object" || properties === null || depth > maxDepth) return {};
  return Object.assign(
    {},
    ...Object.entries(properties).map(([name, schema]) => {
      const value = memberOf(args, name);
      const header = memberOf(schema, key);
      if (typeof header !== "string") return paramHeaders(schema, value, depth + 1);
      const isSent = ["string", "boolean"].includes(typeof value) || Number.isSafeInteger(value);
      return isSent ? { [`mcp-param-${header.toLowerCase()}`]: encodeHeaderText(String(value)) } : {};
    }),
  );
}

/** A string for a header: unchanged if that is safe, otherwise as marked base64. */
export function encodeHeaderText(text: string): string {
  const isSafe = /^[\t\x20-\x7e]+$/.test(text) && text === text.trim() && !/^=\?base64\?.*\?=$/s.test(text);
  if (isSafe) return text;
  const bytes = new TextEncoder().encode(text);
  return `=?base64?${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))}?=`;
}

function memberOf(value: unknown, name: string): unknown {
  const isObject = typeof value === "object" && value !== null && Object.hasOwn(value, name);
  return isObject ? (value as Record<string, unknown>)[name] : undefined;
}
