import { printableText } from "@wirescope/channelz/internal";
import type { Tool } from "@wirescope/tool-server";
import type { Screen } from "../output/screen.js";
import { wrap } from "../output/text-layout.js";
import { objectOf } from "./call-arguments.js";

interface Property {
  readonly type?: unknown;
  readonly description?: unknown;
  readonly enum?: unknown;
  readonly default?: unknown;
  readonly items?: unknown;
  readonly anyOf?: unknown;
}

/** The description of a tool: what it does, its arguments with their types, and an example command from `callLine`. */
export function renderTool(callLine: (...words: string[]) => string, tool: Tool, { palette, width }: Screen): string[] {
  const description = (tool.description ?? "").trim();
  const schema = objectOf(tool.inputSchema);
  const properties = Object.entries(objectOf(schema.properties));
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const lines = [palette.strong(printableText(tool.name)) + (tool.title ? `  ${printableText(tool.title)}` : "")];
  for (const line of description === "" ? [] : description.split("\n")) {
    lines.push(...wrap(printableText(line), width, "  "));
  }
  const hints = hintsOf(tool);
  if (hints !== "") lines.push(palette.faint(`  ${hints}`));
  lines.push("");
  if (properties.length === 0) lines.push("Takes no arguments.");
  else lines.push("Arguments:");
  const names = Math.max(0, ...properties.map(([name]) => name.length));
  for (const [name, value] of properties) {
    const property: Property = objectOf(value);
    const kind = `${typeText(property)}${required.has(name) ? ", required" : ""}`;
    lines.push(`  ${palette.strong(printableText(name).padEnd(names))}  ${printableText(kind)}`);
    if (typeof property.description === "string") {
      lines.push(...wrap(printableText(property.description), width, " ".repeat(names + 4)).map(palette.faint));
    }
  }
  const example = properties
    .filter(([name]) => required.has(name))
    .map(([name, value]) => `${name}=${placeholder(objectOf(value))}`);
  const words = [tool.name, ...example].map((word) => printableText(word));
  lines.push("", "Call it:", `  ${printableText(callLine(...words))}`);
  return lines;
}

function typeText(property: Property): string {
  if (Array.isArray(property.enum)) return property.enum.map((value) => JSON.stringify(value)).join(" or ");
  const branches = Array.isArray(property.anyOf) ? property.anyOf.map((branch) => typeText(objectOf(branch))) : [];
  if (branches.length > 0) return branches.join(" or ");
  const kind = Array.isArray(property.type) ? property.type.join(" or ") : String(property.type ?? "any");
  const items = kind === "array" ? ` of ${typeText(objectOf(property.items))}` : "";
  return `${kind}${items}${property.default === undefined ? "" : `, default ${JSON.stringify(property.default)}`}`;
}

function hintsOf({ annotations }: Tool): string {
  if (annotations === undefined) return "";
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
  const hints = [
    readOnlyHint ? "read-only" : undefined,
    destructiveHint && !readOnlyHint ? "destructive" : undefined,
    idempotentHint ? "idempotent" : undefined,
    openWorldHint ? "accesses external systems" : undefined,
  ].filter((hint) => hint !== undefined);
  return hints.length === 0 ? "" : `Hints from the server: ${hints.join(", ")}.`;
}

function placeholder(property: Property): string {
  if (Array.isArray(property.enum)) return String(property.enum[0]);
  return property.type === "number" || property.type === "integer" ? "1" : property.type === "boolean" ? "true" : "…";
}
