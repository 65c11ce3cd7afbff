import { printableText } from "@wirescope/channelz/internal";
import type { Paint } from "./colour.js";
import type { Screen } from "./screen.js";

/** A name, a value that may hold text of a peer, and the colour of the value. */
export type Field = readonly [name: string, value: string, paint?: Paint];

/** Lines of names and values, aligned. Values are shown in full, and escaped. */
export function renderFields(fields: readonly Field[], screen: Screen, indent = "  "): string[] {
  const width = Math.max(0, ...fields.map(([name]) => name.length));
  return fields.map(([name, value, paint]) => {
    const text = printableText(value);
    return `${indent}${screen.palette.faint(name.padEnd(width))}  ${paint?.(text) ?? text}`;
  });
}
