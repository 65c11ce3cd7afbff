import { readdirSync, readFileSync } from "node:fs";

const folder = new URL("../../fixtures/", import.meta.url);

/** The examples of the specification, by name. */
export const examples: ReadonlyMap<string, string> = new Map(
  readdirSync(folder)
    .filter((file) => file.endsWith(".json"))
    .map((file) => [file.replace(/\.json$/, ""), readFileSync(new URL(file, folder), "utf8")]),
);

/** One example of the specification. */
export function example(name: string): string {
  const text = examples.get(name);
  if (text === undefined) throw new Error(`There is no example ${name}.`);
  return text;
}

/** A configuration of one entry named `s`. */
export function withEntry(entry: unknown): string {
  return JSON.stringify({ mcpServers: { s: entry } }, null, 2);
}

/** A valid network entry, except for the given fields. */
export function networkEntry(more: object = {}): Record<string, unknown> {
  return { type: "http", url: "https://api.example.com/mcp", ...more };
}
