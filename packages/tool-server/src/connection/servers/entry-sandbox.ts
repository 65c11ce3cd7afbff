import { ToolServerError } from "../../errors.js";
import { ownFolders, prepareSandbox, type Sandbox } from "../../process/sandbox.js";
import type { SandboxRule } from "../../trust/policy.js";

/** What is started: a stdio server, or the helper of a server on the network. */
export type SandboxedProgram = "server" | "helper";

/** How stdio servers and helpers are kept away from tokens and from each other. */
export interface SandboxSettings {
  /** Files, and folders with a final slash, that they do not see. Default: the folders of Wirescope. */
  readonly hidden?: readonly string[] | undefined;
  /** What the policy says, asked before each start. Default "auto". */
  readonly rule?: (() => Promise<SandboxRule>) | undefined;
  /** Where bubblewrap is looked for. Default: the PATH of this process. */
  readonly searchPath?: string | undefined;
  /** Called whenever one starts without a sandbox although one is wanted, if the user can do something about it. */
  readonly onMissing?: ((reason: string, program: SandboxedProgram) => void) | undefined;
}

export interface EntrySandboxOptions {
  readonly settings: SandboxSettings;
  readonly server: string;
  readonly program: SandboxedProgram;
  /** What the entry says. */
  readonly isWanted: boolean;
  readonly cwd: string;
  /** Reports that the program runs without, and why. */
  readonly onAbsent: (reason: string) => void;
}

/**
 * The sandbox for one start of a server or helper; undefined if it runs without. Rejects with CHILD_NOT_RUNNABLE or
 * HELPER_NOT_RUNNABLE if it must not. Helpers see other processes, because the daemons that they start have to live on.
 */
export async function prepareEntrySandbox(options: EntrySandboxOptions): Promise<Sandbox | undefined> {
  const { settings, server, program, isWanted, cwd, onAbsent } = options;
  const rule = (await settings.rule?.()) ?? "auto";
  if (rule === "off" || (rule === "auto" && !isWanted)) {
    onAbsent(rule === "off" ? "The policy turns the sandbox off." : "Its entry turns the sandbox off.");
    return undefined;
  }
  const { hidden = ownFolders(), searchPath } = settings;
  const sandbox = await prepareSandbox({ hidden, cwd, searchPath, hidesProcesses: program === "server" });
  if (!("reason" in sandbox)) return sandbox;
  const { reason, isFixable } = sandbox;
  if (rule === "required") {
    const [code, subject] =
      program === "server"
        ? (["CHILD_NOT_RUNNABLE", "The server"] as const)
        : (["HELPER_NOT_RUNNABLE", "The helper of the server"] as const);
    const problem = `${subject} ${JSON.stringify(server)} cannot be started: the policy requires the sandbox.`;
    throw new ToolServerError(code, { problem, advice: reason }, { details: { wasSent: false } });
  }
  onAbsent(reason);
  if (isFixable) settings.onMissing?.(reason, program);
  return undefined;
}
