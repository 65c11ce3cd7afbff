import { isObject, type RpcObject } from "@wirescope/tool-server/internal";

// Controls but tab and line break, formats (bidirectional and zero-width characters, tags), separators, lone surrogates, and variation
// selectors that no emoji uses.
const invisible = /[^\P{Cc}\t\n]|[\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|[\u{e0100}-\u{e01ef}]/gu;

/** Text of a server as clients get it: without characters that nobody sees, and truncated with `…`. */
export function clientText(text: string, maxLength: number): string {
  // Truncated first as well: the text may have megabytes.
  const visible = text.slice(0, maxLength * 2).replace(invisible, "");
  if (visible.length <= maxLength) return visible;
  // Half of a surrogate pair is invalid in the JSON of some clients, which would reject the whole list.
  return `${visible.slice(0, Math.max(0, maxLength - 1)).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** How deep a schema is searched for descriptions. Code that handles deeper ones may fail. */
const maxDepth = 32;
/** Keywords of a schema whose values are data. */
const dataKeywords: ReadonlySet<string> = new Set(["const", "default", "enum", "examples"]);

/** A definition whose titles and descriptions are text for clients, in its schemas too; the same object if nothing changes. */
export function withClientTexts(definition: RpcObject, maxLength: number, depth = 0): RpcObject {
  let changed: Record<string, unknown> | undefined;
  for (const [key, value] of Object.entries(definition)) {
    const next = withClientText(key, value, maxLength, depth);
    if (next === value) continue;
    changed ??= { ...definition };
    changed[key] = next;
  }
  return changed ?? definition;
}

function withClientText(key: string, value: unknown, maxLength: number, depth: number): unknown {
  if (typeof value === "string") return key === "description" || key === "title" ? clientText(value, maxLength) : value;
  if (depth >= maxDepth || dataKeywords.has(key) || key === "_meta") return value;
  if (isObject(value)) return withClientTexts(value, maxLength, depth + 1);
  if (!Array.isArray(value)) return value;
  const items = value.map((item) => (isObject(item) ? withClientTexts(item, maxLength, depth + 1) : item));
  return items.every((item, index) => item === value[index]) ? value : items;
}
