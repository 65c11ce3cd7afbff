import { ToolServerError } from "../../errors.js";
import { ownFolders, prepareSandbox, type Sandbox } from "../../process/sandbox.js";
import type { SandboxRule } from "../../trust/policy.js";

/** The sandboxed program: a stdio server, or the helper of a network server. */
export type SandboxedProgram = "server" | "helper";

/** How stdio servers and helpers are isolated from tokens and from each other. */
export interface SandboxSettings {
  /** Files, and folders with a final slash, that they do not see. Default: the folders of Wirescope. */
  readonly hidden?: readonly string[] | undefined;
  /** The rule of the policy, read before each start. Default "auto". */
  readonly rule?: (() => Promise<SandboxRule>) | undefined;
  /** The search path for bubblewrap. Default: the PATH of this process. */
  readonly searchPath?: string | undefined;
  /** Called when a program starts without the sandbox that it should have, if the user can fix that. */
  readonly onMissing?: ((reason: string, program: SandboxedProgram) => void) | undefined;
  /** Called when a program starts without a sandbox, for whatever reason. */
  readonly onUnsandboxed?: ((reason: string, program: SandboxedProgram) => void) | undefined;
}

export interface EntrySandboxOptions {
  readonly settings: SandboxSettings;
  readonly server: string;
  readonly program: SandboxedProgram;
  readonly isEnabled: boolean;
  readonly cwd: string;
  /** Reports why the program runs without a sandbox. */
  readonly onUnsandboxed: (reason: string) => void;
}

/**
 * The sandbox for one start of a server or helper; undefined if it runs without. Rejects with CHILD_NOT_RUNNABLE or
 * HELPER_NOT_RUNNABLE if it must not. Helpers see other processes, because daemons that they start must survive.
 */
export async function prepareEntrySandbox(options: EntrySandboxOptions): Promise<Sandbox | undefined> {
  const { settings, server, program, isEnabled, cwd } = options;
  const onUnsandboxed = (reason: string): void => {
    options.onUnsandboxed(reason);
    settings.onUnsandboxed?.(reason, program);
  };
  const rule = (await settings.rule?.()) ?? "auto";
  if (rule === "off" || (rule === "auto" && !isEnabled)) {
    onUnsandboxed(rule === "off" ? "The policy turns the sandbox off." : "Its entry turns the sandbox off.");
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
  onUnsandboxed(reason);
  if (isFixable) settings.onMissing?.(reason, program);
  return undefined;
}
