import { printableText } from "@wirescope/channelz/internal";
import type { Finding } from "@wirescope/tool-server/config";
import type { Io } from "../io.js";

/** Says which lines of environment files are passed over, and why: what they should have set is missing elsewhere. */
export function tellEnvFindings(findings: readonly Finding[], { stderr }: Pick<Io, "stderr">): void {
  for (const { severity, file = "", line, column, message, fix } of findings) {
    if (severity !== "error") continue;
    stderr.write(`wirescope: ${printableText(`${file}:${line}:${column}: ${message} ${fix} The line is ignored.`)}\n`);
  }
}
