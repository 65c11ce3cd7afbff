import { basename } from "node:path";
import type { Entry } from "@wirescope/tool-server/config";

/** Whether an entry was written by `install`: a gateway that used it would start itself recursively. */
export function isGatewayEntry(entry: Entry): boolean {
  if (entry.type !== "stdio") return false;
  const words = [entry.command, ...entry.args].map(({ template }) => template.text);
  return (
    words.includes("up") && words.includes("--stdio") && words.some((word) => /^wirescope(\.js)?$/.test(basename(word)))
  );
}
