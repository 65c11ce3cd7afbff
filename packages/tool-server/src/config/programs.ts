import { carriageReturnAdvice, hasCarriageReturn, resolveCommand } from "../process/resolve-command.js";
import type { Entry } from "./entry.js";
import type { Report } from "./finding.js";

/** Where programs are looked for. */
export interface ProgramContext {
  readonly pluginRoot: string;
  /** The PATH that the process of a command gets. */
  readonly path: string;
}

/** Says where the command of a stdio entry is not there or cannot be run. Nothing is run. */
export async function judgeCommand(
  entry: Entry,
  command: string,
  context: ProgramContext,
  report: Report,
): Promise<void> {
  if (entry.type !== "stdio") return;
  const found = await resolveCommand(command, context.pluginRoot, context.path);
  if (found.kind === "found") return;
  const isThere = found.kind === "not-executable";
  const where = command.includes("/") ? "at its path" : "in PATH";
  const message = isThere ? "The command is there, but cannot be run." : `The command is not found ${where}.`;
  const fix = /\s/.test(command)
    ? "Put the program alone into command, and each of its arguments into args; no shell takes the line apart."
    : isThere
      ? "Make it executable: chmod +x."
      : "Install it, or write its path.";
  report("command-not-found", "warning", entry.command, message, fix);
}

/** Says where a helper is not there or cannot be run. Nothing is run. */
export async function judgeHelper(
  entry: Entry,
  helper: string | undefined,
  { pluginRoot }: ProgramContext,
  report: Report,
): Promise<void> {
  if (entry.type === "stdio" || entry.headersHelper === undefined || helper === undefined) return;
  // A helper is a path, also where it has no slash: it is not searched for.
  const found = await resolveCommand(helper.includes("/") ? helper : `./${helper}`, pluginRoot, "");
  if (found.kind === "found") {
    if (!(await hasCarriageReturn(found.path))) return;
    const message = "The helper cannot be run.";
    report("helper-not-executable", "error", entry.headersHelper, message, carriageReturnAdvice(found.path));
    return;
  }
  const isDirectory = found.kind === "not-executable" && found.isDirectory;
  if (found.kind === "not-executable" && !isDirectory) {
    const fix = "Make it executable with chmod +x, and keep that in git: git update-index --chmod=+x.";
    report("helper-not-executable", "error", entry.headersHelper, "The helper cannot be run by this user.", fix);
    return;
  }
  const message = isDirectory ? "The helper is a directory." : "The helper does not exist, or cannot be reached.";
  const fix = /\s/.test(helper)
    ? "Write the path of a script without arguments: no shell splits the line. Let a script of your own pass them."
    : "Write the path of a script, from the plugin's root: ${HOST_PLUGIN_ROOT}/scripts/headers.sh.";
  report("helper-missing", "error", entry.headersHelper, message, fix);
}
