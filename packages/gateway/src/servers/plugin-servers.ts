import type { ApprovalSubject, ToolServersOptions, TrustJudgement } from "@wirescope/tool-server";
import type { Entry } from "@wirescope/tool-server/config";

/** The servers of one plugin: its configuration, its root, and the variables that its entries use. */
export interface PluginServers extends Omit<ToolServersOptions, "settings" | "isEager" | "secrets"> {
  /** The file of the configuration, as people are told of it. Default: they are not. */
  readonly configurationPath?: string | undefined;
  /** How a variable is set for this gateway, in a sentence for people. Default: it has to be restarted with the variable. */
  readonly setVariable?: ((name: string) => string) | undefined;
  /** Lets people see and give approvals through the gateway. Default: they cannot. */
  readonly trust?: PluginTrust | undefined;
}

/** Judges the entries of a plugin, and keeps what a person approves. */
export interface PluginTrust {
  /** As `judgeTrust` does. */
  judge(entry: Entry): Promise<TrustJudgement>;
  /** Keeps an approval, and resolves once it is durable. */
  approve(subject: ApprovalSubject): Promise<unknown>;
}
