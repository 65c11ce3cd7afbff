import type { Configuration } from "@wirescope/tool-server/config";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import { UsageError } from "../usage-error.js";

/** Throws a UsageError that names the first mistake which keeps a whole configuration from being understood, and how to see all. */
export function assertReadable({ findings }: Configuration, file: string): void {
  const broken = findings.find(({ server, severity }) => severity === "error" && server === undefined);
  if (broken === undefined) return;
  const { line, column, message, fix } = broken;
  const next = `For all problems: ${commandLine("check", file)}`;
  throw new UsageError(`${file}:${line}:${column}: ${message} ${fix}`, { next });
}
