import { basename } from "node:path";
import type { Entry } from "@wirescope/tool-server/config";

/** Whether an entry is what `install` writes: a gateway that used it would start itself, without end. */
export function isGatewayEntry(entry: Entry): boolean {
  if (entry.type !== "stdio") return false;
  const words = [entry.command, ...entry.args].map(({ template }) => template.text);
  return (
    words.includes("up") && words.includes("--stdio") && words.some((word) => /^wirescope(\.js)?$/.test(basename(word)))
  );
}
