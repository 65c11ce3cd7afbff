import { printableText } from "@wirescope/channelz/internal";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import { exitCode } from "../failure.js";
import { gatewaySettingsPath } from "../gateway-settings-path.js";
import { readClientFile, replaceClientFile } from "../install/client-file.js";
import type { Io } from "../io.js";
import { readJsoncMember, setJsoncMember } from "../jsonc/edit-jsonc.js";
import { JsoncError } from "../jsonc/parse-jsonc.js";
import type { OptionValues } from "../options.js";
import { formatJson } from "../output/json.js";
import type { Screen } from "../output/screen.js";
import { wrap } from "../output/text-layout.js";
import { UsageError } from "../usage-error.js";
import type { importOptions } from "./configure-options.js";

/**
 * Adds files of clients to `configurations` in the gateway's settings: the gateway then reads them, and reloads them when they change.
 * Returns the exit code.
 */
export async function referenceFiles(
  files: readonly string[],
  values: OptionValues<typeof importOptions>,
  io: Io,
  screen: Screen,
): Promise<number> {
  if (values.config !== undefined) throw new UsageError("--config cannot be used with --reference: nothing is copied.");
  const path = gatewaySettingsPath(undefined, io);
  for (;;) {
    const settings = await readClientFile(path);
    const known = knownFiles(settings.text, path);
    const added = [...new Set(files)].filter((file) => !known.includes(file));
    const finish = (isWritten: boolean, code: number, line: string): number => {
      if (values.json) screen.print(formatJson({ file: path, isWritten, configurations: added }));
      else screen.printAll(wrap(printableText(line), screen.width, ""));
      return code;
    };
    if (added.length === 0) return finish(false, exitCode.ok, "No file to add.");
    const what = `${added.length} ${added.length === 1 ? "file" : "files"}: ${added.join(", ")}`;
    if (values["dry-run"]) {
      return finish(false, exitCode.ok, `Nothing was written (--dry-run). ${path} would refer to ${what}.`);
    }
    const question = `Let the gateway read ${printableText(what)}? [y/N] `;
    // No prompt with --json.
    const reply = values.yes ? "y" : values.json ? "n" : await io.ask?.(question);
    if (!/^y(?:es)?$/i.test(reply?.trim() ?? "")) {
      const next = reply === undefined ? " Use --yes to write without a prompt." : "";
      return finish(false, exitCode.failure, `Nothing was written.${next}`);
    }
    const text = setJsoncMember(settings.text, ["configurations"], [...known, ...added]);
    if (!(await replaceClientFile(settings, text, false))) continue;
    const next = `The gateway reads ${what} from its next start on, and reloads them when they change.`;
    return finish(true, exitCode.ok, `${next} It lists the servers to approve: ${commandLine("up")}`);
  }
}

function knownFiles(text: string, path: string): readonly string[] {
  try {
    const known = text.trim() === "" ? undefined : readJsoncMember(text, ["configurations"]);
    return Array.isArray(known) ? known.filter((file) => typeof file === "string") : [];
  } catch (error) {
    if (error instanceof JsoncError) throw new UsageError(`${path}:${error.message}`, { cause: error });
    throw error;
  }
}
