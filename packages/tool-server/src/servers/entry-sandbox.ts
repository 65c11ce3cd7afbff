import { ToolServerError } from "../errors.js";
import { ownFolders, prepareSandbox, type Sandbox } from "../process/sandbox.js";
import type { SandboxRule } from "../trust/policy.js";

/** How stdio servers are kept away from tokens and from each other. */
export interface SandboxSettings {
  /** Files, and folders with a final slash, that servers do not see. Default: the folders of Wirescope. */
  readonly hidden?: readonly string[] | undefined;
  /** What the policy says, asked before each start. Default "auto". */
  readonly rule?: (() => Promise<SandboxRule>) | undefined;
  /** Where bubblewrap is looked for. Default: the PATH of this process. */
  readonly searchPath?: string | undefined;
  /** Called whenever a server starts without a sandbox although one is wanted, if the user can do something about it. */
  readonly onMissing?: ((reason: string) => void) | undefined;
}

export interface EntrySandboxOptions {
  readonly settings: SandboxSettings;
  readonly server: string;
  /** What the entry says. */
  readonly isWanted: boolean;
  readonly cwd: string;
  /** Reports that the server runs without, and why. */
  readonly onAbsent: (reason: string) => void;
}

/** The sandbox for one start of a server; undefined if it runs without. Rejects with CHILD_NOT_RUNNABLE if it must not. */
export async function prepareEntrySandbox(options: EntrySandboxOptions): Promise<Sandbox | undefined> {
  const { settings, server, isWanted, cwd, onAbsent } = options;
  const rule = (await settings.rule?.()) ?? "auto";
  if (rule === "off" || (rule === "auto" && !isWanted)) {
    onAbsent(rule === "off" ? "The policy turns the sandbox off." : "Its entry turns the sandbox off.");
    return undefined;
  }
  const { hidden = ownFolders(), searchPath } = settings;
  const sandbox = await prepareSandbox({ hidden, cwd, searchPath });
  if (!("reason" in sandbox)) return sandbox;
  const { reason, isFixable } = sandbox;
  if (rule === "required") {
    throw new ToolServerError(
      "CHILD_NOT_RUNNABLE",
      {
        problem: `The server ${JSON.stringify(server)} cannot be started: the policy requires the sandbox.`,
        advice: reason,
      },
      { details: { wasSent: false } },
    );
  }
  onAbsent(reason);
  if (isFixable) settings.onMissing?.(reason);
  return undefined;
}
